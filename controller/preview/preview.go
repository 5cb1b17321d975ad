// Package preview computes what a version of the hooks would do for the parents of a controller. It writes nothing and records nothing.
//
//   - A [Previewer] has one version of the hooks, the candidate, and the Binding of the controller whose caches it reads.
//     [Previewer.Parent] computes the [Result] for one parent, and [Previewer.All] for all of them, several at the same time.
//     [Previewer.Ask] only calls the hooks for a parent.
//   - A [Result] has the writes that the reconciles of the parent would do, the differences that its update methods do not permit to
//     fix, or the error of the hooks.
//   - [Result.Without] leaves out the writes that another version would do too, so that the rest is what the candidate changes.
//   - A [Summary] counts the Results of many parents, and has examples.
//
// # How it differs from a reconcile
//
// It does the same steps as a reconcile, with the same packages, and can run at the same time as the reconciles of the same parents:
// it reads objects from the caches only, and what reconciles remember it neither uses nor changes, unless it is given to it. So
//
//   - nothing is adopted or released: an orphan that would be adopted is seen as a child, and a child that would be released is not
//   - the hooks are called without the breakers, the canary and the fallbacks of the version that runs, so that no failure of the
//     candidate counts for it. If a hook is a script with a webhook as its fallback, the script is called. What a script prints and the
//     events that it returns are dropped, and its calls are not in the metrics. A hook that is a webhook is called, like in each resync
//   - the customize hook is called each time, unless its responses are given. A cache of related objects that is not open is opened,
//     and the Previewer waits until it has synced. It stays open until [Previewer.Close]
//   - children of kinds that roll are planned as they are at the end of the rollout: each child that differs from what the hooks return
//     for the parent as it is now is a write, with [Write.Rolls]. Revisions of the parent are not read, and the condition Updated is
//     assumed not to change
//   - there are no dry runs: see [Write.Doubtful]
//   - writes that are repeated are not delayed, and a status is not left to a later reconcile
//   - an error of the API server, such as one of an admission webhook, is not foreseen
//
// The only requests to the API server are the reviews of what the account of the controller may read, which are cached.
//
// # Beside a version that runs
//
// Who shows a second version beside the one that runs makes a Previewer of each, for the Binding of the Reconciler, and calls
// Parent of both after a reconcile of a parent; of the one that runs, with [State], if the goroutine of the reconcile calls it. Then
// Without on both Results shows where they differ:
//
//	candidate.Parent(ctx, parent, preview.State{}).Without(live.Parent(ctx, parent, preview.State{}))
//
// A context with a deadline limits what that costs. Both stay valid as long as the Binding is open, and are closed before it.
package preview

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"metascript/controller/binding"
	"metascript/controller/bodies"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/children"
	"metascript/controller/claim"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/parents"
	"metascript/controller/redact"
	"metascript/controller/references"
	"metascript/controller/related"
	"metascript/engine/stack"
)

// A Previewer computes what a version of the hooks would do. It is safe for concurrent use. Its Binding must be open until it is closed,
// and the caches of the Binding filled.
type Previewer struct {
	binding *binding.Binding
	hooks   build.Hooks
	caches  *related.Caches
	claimer claim.Claimer
	parents waiting
	kinds   parents.Kinds
}

// New returns a Previewer for hooks of the controller of b. caches are the caches of related objects of the server. If now is
// not nil, it is the time that scripts see: two versions that are compared should see the same.
func New(b *binding.Binding, hooks build.Hooks, caches *related.Caches, now func() time.Time) *Previewer {
	p := &Previewer{binding: b, hooks: quiet(hooks, now), caches: caches, claimer: b.Claimer}
	if c, ok := b.Claimer.(*claim.BySelector); ok {
		// Before it adopts, a claimer reads the parent from the API server, and so it does with the children that lost their labels.
		p.claimer = &claim.BySelector{Children: c.Children, Selector: c.Selector, GetLive: cached}
	}
	return p
}

// cached returns o, in place of reading it from the API server.
func cached(_ context.Context, o *object.Object) (*object.Object, error) { return o, nil }

// Close closes the caches of related objects that only the Previewer needs. No other method may be running.
func (p *Previewer) Close() { p.caches.Leave(&p.parents) }

// State is what the reconciles of a parent remember. Only the goroutine that reconciles the parent may give it. The zero value is
// always correct: then some writes are doubtful, see [Write.Doubtful], and the customize hook is called.
type State struct {
	Children   *children.Memory     // is not changed; nil: unknown
	Customized *call.CustomizeCache // is updated; nil: unknown
}

// Parent returns what the hooks would do for a parent from the cache.
func (p *Previewer) Parent(ctx context.Context, parent *object.Object, state State) *Result {
	return p.preview(ctx, &previewing{Previewer: p, state: state}, parent)
}

// Ask calls the hooks for a parent from the cache, and plans nothing. It calls asked after each call of a hook, with the request, and
// one at a time. Until Forget is called, the caches of related objects that the parent needs stay open. If they are not filled within
// patience, Result.Err is a kube.ErrRequeue.
func (p *Previewer) Ask(ctx context.Context, parent *object.Object, patience time.Duration, asked func(observe.Call)) *Result {
	return p.preview(ctx, &previewing{Previewer: p, asked: asked, patience: patience}, parent)
}

// Forget closes the caches of related objects that only this parent needs.
func (p *Previewer) Forget(parent object.Ref) {
	p.caches.Forget(related.Parent{Controller: &p.parents, Ref: parent})
}

// preview computes the Result for a parent, as soon as the caches of related objects are filled.
func (p *Previewer) preview(ctx context.Context, one *previewing, parent *object.Object) *Result {
	blank := Result{Parent: object.RefOf(parent).Clone(), Deleting: object.Deleting(parent), Redactor: p.redactor(parent)}
	ctx, release := bodies.WithLease(redact.NewContext(ctx, blank.Redactor))
	defer release()
	if one.state.Children == nil {
		one.state.Children = children.NewMemory()
	}
	if one.state.Customized == nil {
		one.state.Customized = call.NewCustomizeCache()
	}
	var late <-chan time.Time
	if one.patience > 0 {
		timer := time.NewTimer(one.patience)
		defer timer.Stop()
		late = timer.C
	}
	for {
		woken, r := p.parents.next(), blank
		one.result = &r
		if r.Err = r.Redactor.Error(one.run(ctx, parent)); !errors.Is(r.Err, kube.ErrRequeue) {
			return &r
		}
		select { // a cache of related objects is being filled
		case <-woken:
		case <-time.After(recheck): // it may turn out that it cannot be filled
		case <-late:
			return &r
		case <-ctx.Done():
			r.Err = ctx.Err()
			return &r
		}
	}
}

// recheck is how long a Previewer waits at most before it looks again whether a cache is filled.
const recheck = time.Second

// redactor returns a Redactor with the Secrets that are known before the hooks are called.
func (p *Previewer) redactor(parent *object.Object) *redact.Redactor {
	r := redact.New(parent.GetKind(), parent.GetNamespace(), parent.GetName(), p.binding.Name)
	r.Add(parent)
	r.AddPublic(parent)
	r.SetOrigin(p.binding)
	r.Add(p.binding.Clients.Credentials.Secrets()...)
	if cache := p.binding.CacheOf(object.Kind{Version: "v1", Kind: references.Secret}); cache != nil {
		r.Add(cache.OwnedBy(parent.GetUID())...)
	}
	return r
}

// All calls each, one call at a time, with the Result of each parent that the controller reconciles and may show, in no order. If against
// is not nil, what it would do too is left out; see [Result.Without]. All computes up to workers Results at the same time. If ctx is done
// before the end, it returns the cause.
func (p *Previewer) All(ctx context.Context, workers int, against *Previewer, each func(*Result)) error {
	todo := make(chan *object.Object)
	var working sync.WaitGroup
	var mu sync.Mutex // is locked while each is called
	for range workers {
		working.Go(func() {
			stack.Grow()
			for parent := range todo {
				r := p.changes(ctx, parent, against)
				if mu.Lock(); ctx.Err() == nil && r.Skipped != NotReadable {
					each(r)
				}
				mu.Unlock()
			}
		})
	}
	p.send(ctx, todo)
	close(todo)
	working.Wait()
	return context.Cause(ctx)
}

// send sends the parents that the controller reconciles, until ctx is done.
func (p *Previewer) send(ctx context.Context, to chan<- *object.Object) {
	for parent := range p.binding.ReconciledParents() {
		if p.binding.Only != nil && !p.binding.Only(object.RefOf(parent)) {
			continue
		}
		select {
		case to <- parent:
		case <-ctx.Done():
			return
		}
	}
}

// changes returns what p would do for a parent, without what against would do too, if that is not nil.
func (p *Previewer) changes(ctx context.Context, parent *object.Object, against *Previewer) *Result {
	r := p.Parent(ctx, parent, State{})
	if len(r.Writes) == 0 || against == nil || against.binding.Rule(parent.GroupVersionKind()) == nil {
		return r
	}
	return r.Without(against.Parent(ctx, parent, State{}))
}

// waiting implements related.Controller for the parents of one Previewer.
type waiting struct {
	mu    sync.Mutex // guards woken
	woken chan struct{}
}

// next returns a channel that is closed when something changes from now on.
func (w *waiting) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.woken == nil {
		w.woken = make(chan struct{})
	}
	return w.woken
}

// EnqueueParent implements related.Controller. Related objects of a parent have changed, or their caches are filled.
func (w *waiting) EnqueueParent(object.Ref, *object.Object, *object.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.woken != nil {
		close(w.woken)
		w.woken = nil
	}
}

// caller returns what calls the hooks for one parent. Its breakers are new, so that they admit each call.
func (p *previewing) caller() *call.Caller {
	return &call.Caller{
		Binding: p.binding, Version: call.NewVersion(p.hooks, nil, func() {}), Events: silent{}, Log: slog.New(slog.DiscardHandler),
		Customized: p.state.Customized, Caches: p.caches, Controller: &p.parents, Observe: p.asked,
	}
}

// run does what a reconcile does, and recovers from a panic.
func (p *previewing) run(ctx context.Context, parent *object.Object) (err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("panic: %v", recovered)
		}
	}()
	return p.reconcile(ctx, parent)
}
