package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
)

// BuildPartial makes the hooks of c although some of its scripts do not load. A hook whose script is missing is its webhook, if
// it has one, or else an [UnloadedHook]. BuildPartial also sets Parts and Identity of c.
func (b *Builder) BuildPartial(ctx context.Context, c *Candidate) (Built, error) {
	missing := &missingScripts{parts: map[string]error{}}
	parts, failed := b.Sources.AssembleAll(b.Wanted(c.Declaration), false)
	for name, err := range failed {
		missing.parts[name] = fmt.Errorf("%s: %w", SpecPath(name), err)
	}
	c.Parts = parts
	built, err := b.build(ctx, c.Declaration, c.Parts, missing)
	if err != nil {
		return Built{}, err
	}
	digests, err := c.Parts.digests()
	if err != nil {
		return Built{}, err
	}
	built.Status, built.Missing = v1alpha1.ScriptStatus{}, missing.String()
	declared, _ := c.Object.Field("spec")
	c.Identity, err = digestOf([]any{declared, digests, built.Missing})
	return built, err
}

// missingScripts records which scripts do not load. A nil *missingScripts means that all scripts must load.
type missingScripts struct {
	parts map[string]error // why a part cannot be read or compiled, by its name in Parts
	hooks []error          // why hooks have no script, in the order of the hooks
}

// reason returns why the part of that name does not load, or nil.
func (m *missingScripts) reason(name string) error {
	if m == nil {
		return nil
	}
	return m.parts[name]
}

// any reports whether a script is missing.
func (m *missingScripts) any() bool { return m != nil && len(m.parts)+len(m.hooks) > 0 }

// add records that a part does not load. If all scripts must load, it returns err.
func (m *missingScripts) add(name string, err error) error {
	if m == nil {
		return err
	}
	m.parts[name] = err
	return nil
}

// String says why hooks have no script. It is "" if none is missing.
func (m *missingScripts) String() string {
	var all []string
	for _, err := range m.hooks {
		all = append(all, err.Error())
	}
	return strings.Join(all, "; ")
}

// withoutScript makes a hook whose script does not load, for the reason why. If all scripts must load, it returns why.
func (w *building) withoutScript(name string, why error) (hook.Hook, error) {
	if w.missing == nil {
		return nil, why
	}
	w.missing.hooks = append(w.missing.hooks, why)
	text := fmt.Sprintf("the script that answers for the hook %s is not loaded: %v", name, why)
	if name == hook.Finalize {
		text += fmt.Sprintf("; correct it, or remove finalizer %s from this object", w.declaration.ID().Finalizer())
	}
	return UnloadedHook{Err: errors.New(text)}, nil
}

// mayDefine reports whether spec.script does not load but may define a hook that spec.hooks does not list. A sync or finalize
// hook may always exist: if there may be a finalize hook, finalizers are not changed. A customize hook is assumed if there was
// one when the scripts were loaded last.
func (w *building) mayDefine(name string) bool {
	if w.missing.reason("") == nil {
		return false
	}
	last := w.declaration.Status.Script
	return name != hook.Customize || last != nil && slices.Contains(last.Hooks, name)
}

// fallback makes a hook that is a script with a webhook as its fallback.
func (w *building) fallback(ctx context.Context, name string, set *v1alpha1.Hook) (hook.Hook, error) {
	script, unloaded := w.listedScript(ctx, name, set)
	if unloaded != nil {
		if _, err := w.withoutScript(name, unloaded); err != nil {
			return nil, err
		}
	}
	webhook, err := w.webhook(name, set)
	return &hook.Fallback{
		Script: script, Unloaded: unloaded, Webhook: webhook,
		OnError: set.Fallback == v1alpha1.FallbackOnError, ProbeEvery: w.ProbeEvery,
	}, err
}
