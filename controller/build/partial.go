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

// LoadPartial makes the hooks of c as far as they can be made.
func (l *Loader) LoadPartial(ctx context.Context, c *Candidate) (Built, error) {
	found, failed := l.Sources.AssembleAll(l.Wanted(c.Declaration), false)
	for name, err := range failed {
		l.Partial.Parts[name] = fmt.Errorf("%s: %w", SpecPath(name), err)
	}
	c.Parts = found
	hooks, err := l.Load(ctx, c.Declaration, c.Parts)
	if err != nil {
		return Built{}, err
	}
	digests, err := c.Parts.Digests()
	if err != nil {
		return Built{}, err
	}
	hooks.Status, hooks.Missing = v1alpha1.ScriptStatus{}, l.Partial.String()
	c.Identity, err = sum([]any{c.Object.Object["spec"], digests, hooks.Missing})
	return hooks, err
}

// MissingParts is what a loading does without. A nil one does without nothing.
type MissingParts struct {
	Parts map[string]error // those that do not load, and why
	hooks []error          // whose scripts do not load
}

// Part is why the part of that name does not load.
func (l *MissingParts) Part(name string) error {
	if l == nil {
		return nil
	}
	return l.Parts[name]
}

// any reports whether something is missing.
func (l *MissingParts) any() bool { return l != nil && len(l.Parts)+len(l.hooks) > 0 }

// Note does without a part, unless that is not allowed.
func (l *MissingParts) Note(name string, err error) error {
	if l == nil {
		return err
	}
	l.Parts[name] = err
	return nil
}

// String says what is lacking; "" is nothing.
func (l *MissingParts) String() string {
	var all []string
	for _, err := range l.hooks {
		all = append(all, err.Error())
	}
	return strings.Join(all, "; ")
}

// An UnloadedHook is one that only a script can answer, which is not loaded. Its error is none of a script, since none was
// called.
type UnloadedHook struct{ Err error }

// Call never answers.
func (h UnloadedHook) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return nil, h.Err
}

// withoutScript does without the script of a hook, unless that is not allowed.
func (w *loading) withoutScript(name string, why error) (hook.Hook, error) {
	if w.Partial == nil {
		return nil, why
	}
	w.Partial.hooks = append(w.Partial.hooks, why)
	text := fmt.Sprintf("the script that answers for the hook %s is not loaded: %v", name, why)
	if name == hook.Finalize {
		text += fmt.Sprintf("; mend it, or take finalizer %s off this object", w.finalizer)
	}
	return UnloadedHook{Err: errors.New(text)}, nil
}

// mayDefine reports whether spec.script, which is not loaded, may serve a hook that is not listed. Whether there is a
// finalize hook is not known then, so that finalizers stay as they are; a customize hook is there if there was one.
func (w *loading) mayDefine(name string) bool {
	return w.Partial.Part("") != nil && (name != hook.Customize || slices.Contains(w.served, name))
}

// fallback is a hook with a script that a webhook stands in for.
func (w *loading) fallback(ctx context.Context, name string, set *v1alpha1.Hook, loaded *Built) (hook.Hook, error) {
	made := &hook.Fallback{OnError: set.Fallback == v1alpha1.FallbackOnError, ProbeEvery: w.ProbeEvery}
	script, err := w.listedScript(ctx, name, set)
	if err != nil {
		if _, err := w.withoutScript(name, err); err != nil {
			return nil, err
		}
	}
	made.Script, made.Unloaded = script, err
	made.Webhook, err = w.webhook(name, set, loaded)
	return made, err
}
