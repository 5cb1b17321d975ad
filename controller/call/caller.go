// Package call decides which hooks are called for a parent, and with which related objects, and whether a call is made at all. One
// call of a script or a webhook is in package hook.
//
//   - A [Version] is the hooks of a Reconciler, with the breakers and the canary that watch their calls.
//   - A [Caller] calls them about one parent, and about its older revisions.
//   - [CustomizeCache] keeps the responses of the customize hook for a parent, which name its related objects.
package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"metascript/controller/binding"
	"metascript/controller/delays"
	"metascript/controller/etags"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/spans"
	"metascript/controller/throttle"
)

// An EventRecorder records events about parents.
type EventRecorder interface {
	// Warning records an event of type Warning.
	Warning(o *object.Object, reason, format string, args ...any)
	// HookEvent records an event that a hook returned. kind is the type of the event.
	HookEvent(o *object.Object, kind, reason, message string)
}

// A Caller calls the hooks of one version about one parent. It is used by one reconcile at a time.
type Caller struct {
	Binding    *binding.Binding
	Version    *Version
	Object     func() *object.Object // returns the controller object as hooks see it now; nil: it is that of the Binding
	Events     EventRecorder
	Log        *slog.Logger
	Customized *CustomizeCache    // the cached responses of the customize hook for the parent
	Caches     *related.Caches    // the caches of related objects
	Controller related.Controller // which reconciles the parent
	Recorder   *object.Recorder   // of what a hook reads, if there is one variant; nil: it is not recorded
	Delays     *delays.Meter      // measures the calls; nil does not

	Settled func(cached etags.ID) bool // see hook.Request.Settled, if there is one variant
	Calling func([]*object.Object)     // called with the input of the hook for the current parent, before the call; nil is not called
	Observe func(observe.Call)         // called after each call of a hook, by one goroutine at a time; nil is not called
	mu      sync.Mutex                 // is locked while Observe is called
}

// A Variant is a parent with the fields of one of its revisions, and the hooks that are called for it.
type Variant struct {
	Parent   *object.Object
	Revision string      // the name of the ControllerRevision; "" is the current parent
	Related  *object.Set // the related objects that the hook sees; set by Relate
	children *object.Set // the observed children

	Sync, Finalize, Customize hook.Hook // Finalize and Customize are nil if there is no such hook
}

// wrap adds the name of the revision to err. It returns err if the variant is the current parent.
func (v *Variant) wrap(err error) error {
	if err == nil || v.Revision == "" {
		return err
	}
	return &RevisionError{v.Revision, err}
}

// A RevisionError says that a hook failed for an older revision of a parent. The rollout does not continue until this is fixed.
type RevisionError struct {
	revision string
	error
}

func (e *RevisionError) Unwrap() error { return e.error }

func (e *RevisionError) Error() string {
	return fmt.Sprintf("called for the object as in ControllerRevision %s: %v; change the hook so that it supports this revision too, or delete that ControllerRevision: its children then move to the latest revision one by one", e.revision, e.error)
}

// forRevision returns req for an older variant of the parent. The kind of the parent is not in Versioned, since the variant
// has the UID and the resourceVersion of the current parent but other fields. There is no selector, since that of the
// current parent may differ.
func forRevision(req hook.Request, v Variant) hook.Request {
	req.Parent, req.Expect.Selector = v.Parent, nil
	req.Versioned = maps.Clone(req.Versioned)
	delete(req.Versioned, v.Parent.GroupVersionKind())
	return req
}

// Latest returns the variant for the current parent.
func (c *Caller) Latest(parent *object.Object) Variant {
	return Variant{Parent: parent, Sync: c.Version.Sync, Finalize: c.Version.Finalize, Customize: c.Version.Customize}
}

// CallHook calls the sync hook, or the finalize hook if the parent is finalizing. The errors are those of CallRevisions.
func (c *Caller) CallHook(ctx context.Context, parent *object.Object, children *object.Set) (*hook.Response, error) {
	responses, err := c.CallRevisions(ctx, parent, children, []Variant{c.Latest(parent)})
	if err != nil {
		return nil, err
	}
	return responses[0], nil
}

// CallRevisions calls the sync or the finalize hook for all variants of parent concurrently. The first variant is the current
// parent. It returns one response for each variant, in their order, or the error of the first variant that failed.
//
// If the version was given up, if the fallback switched during calls for more than one variant, or if the Binding is outdated after the
// calls, the error is a kube.ErrRequeue. If the breaker does not admit the call, the error is that of [throttle.Breaker.Admit].
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
		Shape: c.Binding.Shape, Controller: c.controller(), Parent: parent, Children: children,
		Finalizing: c.Binding.Finalizing(parent), Expect: expect, Versioned: c.Binding.VersionedKinds(),
	}
	if len(variants) == 1 {
		req.Recorder, req.Settled = c.Recorder, c.Settled
	}
	name := hook.Sync
	if req.Finalizing {
		name = hook.Finalize
	}
	if result, why := c.Version.Canary.Outcome(time.Now()); result == throttle.GivenUp {
		return nil, fmt.Errorf("%w: %w", kube.ErrRequeue, why) // the previous version is activated next
	}
	if c.Calling != nil {
		input := slices.Collect(children.All())
		if related := variants[0].Related; related != nil {
			input = slices.AppendSeq(input, related.All())
		}
		c.Calling(append(input, parent))
	}
	var responses []*hook.Response
	switched, err := c.guard(name, c.Version.Breaker, parent, true, func() (err error) {
		responses, err = c.callAll(ctx, req, variants)
		return err
	})
	if err != nil {
		return nil, err
	}
	if switched && len(variants) > 1 {
		return nil, kube.ErrRequeue // some responses may be the script's, and others the webhook's
	}
	if err := c.Binding.CheckCurrent(); err != nil {
		return nil, err
	}
	c.recordEvents(parent, responses[0])
	return responses, nil
}

// controller returns the controller object as hooks see it.
func (c *Caller) controller() *object.Object {
	if c.Object == nil {
		return c.Binding.Controller
	}
	return c.Object()
}

// guard calls the hook of this name, in these steps:
//
//   - It checks whether the fallback is active, that is, whether a webhook is called in place of the script.
//   - If not, it asks the breaker. If the breaker does not admit the call, the error is a *throttle.HeldError or a
//     *throttle.PauseError, and the hook is not called.
//   - It calls the hook.
//   - If the fallback was not active and did not switch during the call, it reports the result to the canary. A result
//     without an error is reported only if countSuccess is true.
//   - It reports the result to the breaker, which may replace the error.
//
// It reports whether the fallback switched during the call, in either direction.
func (c *Caller) guard(name string, breaker *throttle.Breaker, parent *object.Object, countSuccess bool, call func() error) (switched bool, err error) {
	key, question := object.RefOf(parent), throttle.InputFor(parent, name)
	fallback, period := c.Version.FallbackActive(name)
	if !fallback {
		if err := breaker.Admit(key, question, time.Now()); err != nil {
			return false, err
		}
	}
	err = call()
	_, periodAfter := c.Version.FallbackActive(name)
	switched = periodAfter != period
	if !fallback && !switched && (countSuccess || err != nil) {
		c.noteCanary(key, err) // the result is that of the script
	}
	return switched, breaker.Note(key, question, err, time.Now())
}

// noteCanary reports the result of a call to the canary. An error for an older revision is not reported: it may be that of
// an older script.
func (c *Caller) noteCanary(parent object.Ref, err error) {
	var older *RevisionError
	if !errors.As(err, &older) {
		c.Version.Canary.Note(parent, err, time.Now())
	}
}

// callAll calls the hook for all variants concurrently. It returns the responses in the order of the variants, or the error of
// the first variant that failed.
func (c *Caller) callAll(ctx context.Context, req hook.Request, variants []Variant) ([]*hook.Response, error) {
	responses, errs := make([]*hook.Response, len(variants)), make([]error, len(variants))
	var others sync.WaitGroup
	for i := 1; i < len(variants); i++ {
		others.Go(func() { responses[i], errs[i] = c.callOne(ctx, req, variants[i]) })
	}
	responses[0], errs[0] = c.callOne(ctx, req, variants[0])
	others.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return responses, nil
}

// callOne calls the hook for one variant. A panic becomes an error of this call: in the goroutines of callAll, nothing else
// recovers from it.
func (c *Caller) callOne(ctx context.Context, req hook.Request, v Variant) (response *hook.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.Log.Error("panic while a hook was called, please report it", "parent", object.RefOf(v.Parent), "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if req.Related = v.Related; v.Revision != "" {
		req = forRevision(req, v)
	}
	called := v.Sync
	if req.Finalizing {
		called = v.Finalize
	}
	redactor := redact.FromContext(ctx)
	redactor.Add(req.Parent)
	redactor.AddSets(req.Children, req.Related)
	name := hook.Sync
	if req.Finalizing {
		name = hook.Finalize
	}
	response, err = c.observed(ctx, name, v.Revision, called, &req)
	if response != nil {
		redactor.AddSets(response.Children) // Secrets among the desired children
	}
	return response, v.wrap(redactor.Error(err)) // before the breaker and the canary keep it
}

// observed calls a hook, and then Observe.
func (c *Caller) observed(ctx context.Context, name, revision string, called hook.Hook, req *hook.Request) (*hook.Response, error) {
	defer c.Delays.Begin(name)()
	if c.Observe == nil {
		return called.Call(ctx, req)
	}
	req.Now, req.Draws = hook.TimeOf(called), &hook.Draws{}
	began := time.Now()
	ctx, span := spans.Start(ctx, "hook "+name)
	response, err := called.Call(ctx, req)
	one := observe.Call{
		Name: name, Revision: revision, Hook: called, Request: req, Response: response, Err: redact.FromContext(ctx).Error(err),
		Began: began, Took: time.Since(began), Span: span,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Observe(one)
	return response, err
}

// recordEvents records the warnings and the events of a response as events about the parent. The number of further warnings comes first:
// of many events with one reason, only the first ones are recorded by themselves.
func (c *Caller) recordEvents(parent *object.Object, response *hook.Response) {
	shown := min(len(response.Warnings), hook.MaxWarnings)
	for _, warning := range slices.Concat(response.Warnings[shown:], response.Warnings[:shown]) {
		c.Events.Warning(parent, "HookWarning", "%v", warning)
	}
	for _, event := range response.Events {
		c.Events.HookEvent(parent, event.Type, event.Reason, event.Message)
	}
}
