package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
)

// loadRest makes the hooks of c as far as they can be made.
func (l *hookLoader) loadRest(ctx context.Context, c *candidate) (loadedHooks, error) {
	found, failed := l.sources.AssembleAll(l.wants(c.declaration), false)
	for name, err := range failed {
		l.lacking.parts[name] = fmt.Errorf("%s: %w", where(name), err)
	}
	c.parts = found
	hooks, err := l.load(ctx, c.declaration, c.parts)
	if err != nil {
		return loadedHooks{}, err
	}
	digests, err := c.parts.digests()
	if err != nil {
		return loadedHooks{}, err
	}
	hooks.status, hooks.lacks = v1alpha1.ScriptStatus{}, l.lacking.String()
	c.identity, err = sum([]any{c.object.Object["spec"], digests, hooks.lacks})
	return hooks, err
}

// lacking is what a loading does without. A nil one does without nothing.
type lacking struct {
	parts map[string]error // those that do not load, and why
	hooks []error          // whose scripts do not load
}

// part is why the part of that name does not load.
func (l *lacking) part(name string) error {
	if l == nil {
		return nil
	}
	return l.parts[name]
}

// note does without a part, unless that is not allowed.
func (l *lacking) note(name string, err error) error {
	if l == nil {
		return err
	}
	l.parts[name] = err
	return nil
}

// String says what is lacking; "" is nothing.
func (l *lacking) String() string {
	var all []string
	for _, err := range l.hooks {
		all = append(all, err.Error())
	}
	return strings.Join(all, "; ")
}

// An unloadedHook is one that only a script can answer, which is not loaded. Its error is none of a script, since none was
// called.
type unloadedHook struct{ error }

// Call never answers.
func (h unloadedHook) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return nil, h.error
}

// unloaded does without the script of a hook, unless that is not allowed.
func (w *loading) unloaded(name string, why error) (hook.Hook, error) {
	if w.lacking == nil {
		return nil, why
	}
	w.lacking.hooks = append(w.lacking.hooks, why)
	text := fmt.Sprintf("the script that answers for the hook %s is not loaded: %v", name, why)
	if name == hook.Finalize {
		text += fmt.Sprintf("; mend it, or take finalizer %s off this object", w.finalizer)
	}
	return unloadedHook{errors.New(text)}, nil
}

// mayDefine reports whether spec.script, which is not loaded, may serve a hook that is not listed. Whether there is a
// finalize hook is not known then, so that finalizers stay as they are; a customize hook is there if there was one.
func (w *loading) mayDefine(name string) bool {
	return w.lacking.part("") != nil && (name != hook.Customize || slices.Contains(w.served, name))
}

// fallback is a hook with a script that a webhook stands in for.
func (w *loading) fallback(ctx context.Context, name string, set *v1alpha1.Hook, loaded *loadedHooks) (hook.Hook, error) {
	made := &hook.Fallback{OnError: set.Fallback == v1alpha1.FallbackOnError, ProbeEvery: w.probeEvery}
	script, err := w.listedScript(ctx, name, set)
	if err != nil {
		if _, err := w.unloaded(name, err); err != nil {
			return nil, err
		}
	}
	made.Script, made.Unloaded = script, err
	made.Webhook, err = w.webhook(name, set, loaded)
	return made, err
}
