package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/throttle"
)

// A variant is a parent as one of its revisions has it, and who answers about it.
type variant struct {
	parent   *object.Object
	revision string      // the name of the ControllerRevision; "" is the parent as it is
	related  *object.Set // what the hook sees beside the children
	children *object.Set // that there are

	sync, finalize, customize hook.Hook
}

// now is the parent as it is.
func (t *turn) latest(parent *object.Object) variant {
	return variant{parent: parent, sync: t.Sync, finalize: t.Finalize, customize: t.Customize}
}

// about says in err which variant it is about.
func (v *variant) wrap(err error) error {
	if err == nil || v.revision == "" {
		return err
	}
	return &revisionError{v.revision, err}
}

// ask calls the hook, unless its script is held.
func (t *turn) callHook(ctx context.Context, parent *object.Object, children *object.Set) (*hook.Response, error) {
	answers, err := t.callRevisions(ctx, parent, children, []variant{t.latest(parent)})
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// askAll calls the hook about each variant of parent at the same time, the first of which is the parent as it is,
// unless the script is held and no webhook stands in for it. One that fails fails all.
func (t *turn) callRevisions(ctx context.Context, parent *object.Object, children *object.Set, variants []variant) ([]*hook.Response, error) {
	for i := range variants {
		variants[i].children = children
	}
	if err := t.relate(ctx, parent, variants); err != nil {
		return nil, err
	}
	expect, err := t.Expect(parent)
	if err != nil {
		return nil, err
	}
	req := hook.Request{
		Shape: t.Shape, Controller: t.Controller, Parent: parent, Children: children,
		Finalizing: t.finalizing(parent), Expect: expect, Versioned: t.versionedKinds(),
	}
	asked := hook.Sync
	if req.Finalizing {
		asked = hook.Finalize
	}
	if came, why := t.Canary.Outcome(time.Now()); came == throttle.GivenUp {
		return nil, fmt.Errorf("%w: %w", kube.ErrRequeue, why) // the version before is about to take its place
	}
	key, q := object.RefOf(parent), throttle.QuestionAbout(parent, asked)
	standsIn, period := t.FallbackActive(asked)
	if !standsIn {
		if err := t.breaker.Admit(key, q, time.Now()); err != nil {
			return nil, err
		}
	}
	answers, err := t.callAll(ctx, req, variants)
	if _, now := t.FallbackActive(asked); !standsIn && now == period {
		t.noteCanary(key, err) // it was the script that answered
	}
	if err = t.breaker.Note(key, q, err, time.Now()); err != nil {
		return nil, err
	}
	if _, now := t.FallbackActive(asked); now != period && len(variants) > 1 {
		return nil, kube.ErrRequeue // some may be the script's answers, and some the webhook's
	}
	t.recordEvents(parent, answers[0])
	return answers, nil
}

// judge notes how the version did. What an older one of a rollout does says nothing of it.
func (t *turn) noteCanary(parent object.Ref, err error) {
	var about *revisionError
	if !errors.As(err, &about) {
		t.Canary.Note(parent, err, time.Now())
	}
}

// callAll gives the answers, or the first error.
func (l *Reconciler) callAll(ctx context.Context, req hook.Request, variants []variant) ([]*hook.Response, error) {
	answers, failed := make([]*hook.Response, len(variants)), make([]error, len(variants))
	var others sync.WaitGroup
	for i := 1; i < len(variants); i++ {
		others.Go(func() { answers[i], failed[i] = l.callOne(ctx, req, variants[i]) })
	}
	answers[0], failed[0] = l.callOne(ctx, req, variants[0])
	others.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// call asks about one variant. A panic is an error of this one question, also where nobody else would recover from it.
func (l *Reconciler) callOne(ctx context.Context, req hook.Request, v variant) (answer *hook.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			l.log.Error("panic while a hook was asked, please report it", "parent", object.KeyOf(v.parent), "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if req.Related = v.related; v.revision != "" {
		req = past(req, v)
	}
	ask := v.sync
	if req.Finalizing {
		ask = v.finalize
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

// A revisionError says that the hook does not answer about an older revision of a parent, so that its rollout stands.
type revisionError struct {
	revision string
	error
}

func (e *revisionError) Unwrap() error { return e.error }

func (e *revisionError) Error() string {
	return fmt.Sprintf("asked about the object as ControllerRevision %s has it: %v; have the hook answer about it too, or delete that ControllerRevision: its children then move to the latest revision one by one", e.revision, e.error)
}

// past is req about an older variant of the parent. UID and resourceVersion do not identify this one, and its selector
// need not be today's.
func past(req hook.Request, v variant) hook.Request {
	req.Parent, req.Expect.Selector = v.parent, nil
	req.Versioned = maps.Clone(req.Versioned)
	delete(req.Versioned, v.parent.GroupVersionKind())
	return req
}
