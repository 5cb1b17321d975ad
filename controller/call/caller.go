package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/throttle"
)

// An EventRecorder records events about parents.
type EventRecorder interface {
	Warning(o *object.Object, reason, format string, args ...any)
	Asked(o *object.Object, kind, reason, message string)
}

// A Caller calls the hooks of one version about one parent.
type Caller struct {
	Binding    *binding.Binding
	Version    *Version
	Events     EventRecorder
	Log        *slog.Logger
	Customized *Related // of the parent
	Caches     *related.Caches
	Controller related.Controller // that the parent is of
}

// A Variant is a parent as one of its revisions has it, and who answers about it.
type Variant struct {
	Parent   *object.Object
	Revision string      // the name of the ControllerRevision; "" is the parent as it is
	Related  *object.Set // what the hook sees beside the children
	children *object.Set // that there are

	Sync, Finalize, Customize hook.Hook
}

// wrap says in err which variant it is about.
func (v *Variant) wrap(err error) error {
	if err == nil || v.Revision == "" {
		return err
	}
	return &RevisionError{v.Revision, err}
}

// A RevisionError says that the hook does not answer about an older revision of a parent, so that its rollout stands.
type RevisionError struct {
	revision string
	error
}

func (e *RevisionError) Unwrap() error { return e.error }

func (e *RevisionError) Error() string {
	return fmt.Sprintf("asked about the object as ControllerRevision %s has it: %v; have the hook answer about it too, or delete that ControllerRevision: its children then move to the latest revision one by one", e.revision, e.error)
}

// past is req about an older variant of the parent. UID and resourceVersion do not identify this one, and its selector
// need not be today's.
func past(req hook.Request, v Variant) hook.Request {
	req.Parent, req.Expect.Selector = v.Parent, nil
	req.Versioned = maps.Clone(req.Versioned)
	delete(req.Versioned, v.Parent.GroupVersionKind())
	return req
}

// Latest is the parent as it is.
func (c *Caller) Latest(parent *object.Object) Variant {
	return Variant{Parent: parent, Sync: c.Version.Sync, Finalize: c.Version.Finalize, Customize: c.Version.Customize}
}

// CallHook calls the hook, unless its script is held.
func (c *Caller) CallHook(ctx context.Context, parent *object.Object, children *object.Set) (*hook.Response, error) {
	answers, err := c.CallRevisions(ctx, parent, children, []Variant{c.Latest(parent)})
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// CallRevisions calls the hook about each variant of parent at the same time, the first of which is the parent as it is,
// unless the script is held and no webhook stands in for it. One that fails fails all.
func (c *Caller) CallRevisions(ctx context.Context, parent *object.Object, children *object.Set, variants []Variant) ([]*hook.Response, error) {
	for i := range variants {
		variants[i].children = children
	}
	if err := c.Relate(ctx, parent, variants); err != nil {
		return nil, err
	}
	expect, err := c.Binding.Expect(parent)
	if err != nil {
		return nil, err
	}
	req := hook.Request{
		Shape: c.Binding.Shape, Controller: c.Binding.Controller, Parent: parent, Children: children,
		Finalizing: c.Binding.Finalizing(parent), Expect: expect, Versioned: c.Binding.VersionedKinds(),
	}
	asked := hook.Sync
	if req.Finalizing {
		asked = hook.Finalize
	}
	if result, why := c.Version.Canary.Outcome(time.Now()); result == throttle.GivenUp {
		return nil, fmt.Errorf("%w: %w", kube.ErrRequeue, why) // the version before is about to take its place
	}
	var answers []*hook.Response
	switched, err := c.guard(asked, c.Version.Breaker, parent, true, func() (err error) {
		answers, err = c.callAll(ctx, req, variants)
		return err
	})
	if err != nil {
		return nil, err
	}
	if switched && len(variants) > 1 {
		return nil, kube.ErrRequeue // some may be the script's answers, and some the webhook's
	}
	c.recordEvents(parent, answers[0])
	return answers, nil
}

// guard calls a hook about a parent, unless its script is held: then the error is a *throttle.HeldError or a
// *throttle.PauseError. While a webhook answers in place of the script, the breaker is not asked and the canary is told
// nothing. With success, a call that does not fail speaks for the version. It reports whether the webhook took over from
// the script, or the script from the webhook, during the call.
func (c *Caller) guard(name string, breaker *throttle.Breaker, parent *object.Object, success bool, call func() error) (switched bool, err error) {
	key, q := object.RefOf(parent), throttle.QuestionAbout(parent, name)
	fallback, period := c.Version.FallbackActive(name)
	if !fallback {
		if err := breaker.Admit(key, q, time.Now()); err != nil {
			return false, err
		}
	}
	err = call()
	_, now := c.Version.FallbackActive(name)
	switched = now != period
	if !fallback && !switched && (success || err != nil) {
		c.noteCanary(key, err) // it was the script that answered
	}
	return switched, breaker.Note(key, q, err, time.Now())
}

// noteCanary records how the version did. What an older one of a rollout does says nothing of it.
func (c *Caller) noteCanary(parent object.Ref, err error) {
	var older *RevisionError
	if !errors.As(err, &older) {
		c.Version.Canary.Note(parent, err, time.Now())
	}
}

// callAll gives the answers, or the first error.
func (c *Caller) callAll(ctx context.Context, req hook.Request, variants []Variant) ([]*hook.Response, error) {
	answers, failed := make([]*hook.Response, len(variants)), make([]error, len(variants))
	var others sync.WaitGroup
	for i := 1; i < len(variants); i++ {
		others.Go(func() { answers[i], failed[i] = c.callOne(ctx, req, variants[i]) })
	}
	answers[0], failed[0] = c.callOne(ctx, req, variants[0])
	others.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// callOne asks about one variant. A panic is an error of this one question, also where nobody else would recover from it.
func (c *Caller) callOne(ctx context.Context, req hook.Request, v Variant) (answer *hook.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.Log.Error("panic while a hook was asked, please report it", "parent", object.RefOf(v.Parent), "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if req.Related = v.Related; v.Revision != "" {
		req = past(req, v)
	}
	ask := v.Sync
	if req.Finalizing {
		ask = v.Finalize
	}
	hidden := redact.In(ctx)
	hidden.Add(req.Parent)
	hidden.AddSets(req.Children, req.Related)
	answer, err = ask.Call(ctx, &req)
	if answer != nil {
		hidden.AddSets(answer.Children) // Secrets that it makes
	}
	return answer, v.wrap(hidden.Error(err)) // before anybody remembers it
}

// recordEvents records what an answer has to say to people.
func (c *Caller) recordEvents(parent *object.Object, answer *hook.Response) {
	for _, warning := range answer.Warnings {
		c.Events.Warning(parent, "HookWarning", "%s", warning)
	}
	for _, event := range answer.Events {
		c.Events.Asked(parent, event.Type, event.Reason, event.Message)
	}
}
