package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/claim"
	"metascript/controller/finalizers"
	"metascript/controller/guard"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/related"
	"metascript/controller/revisions"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/controller/store"
)

// An activator starts, replaces and stops the Reconcilers of controllers.
type activator struct {
	*environment
	watches  *watches
	versions *goodVersions
	schemas  *revisions.Schemas // of parents
}

// activate runs c with the hooks that l has built. If only the scripts differ from what runs, it replaces the hooks of the
// running Reconciler; otherwise it starts another one.
func (a *activator) activate(ctx context.Context, m *managed, c *build.Candidate, builder *build.Builder, built build.Built) error {
	loaded := &build.Loaded{
		UID: c.Object.GetUID(), Generation: c.Object.GetGeneration(), Resolved: c.Resolved, Built: built, Identity: c.Identity,
		LoadedAt: build.LoadedAt(c.Status.Script, built.Status.Digest, time.Now()), Candidate: c,
	}
	scripts := a.scriptVersions(c, builder, &loaded.Built)
	if r := m.active.Load(); r != nil && r.Current().Loaded.SameBinding(c) {
		a.observeLoaded(c.Object, r)
		r.Swap(a.nextVersion(ctx, m, r.Reconciler, loaded, scripts))
		return nil
	}
	b, err := a.bind(c, built, a.Metrics)
	if err != nil {
		return err
	}
	if b.Revisions != nil {
		b.Revisions.Scripts = scripts
	}
	a.start(ctx, m, b, loaded)
	return nil
}

// nextVersion returns the next version of the hooks for a Reconciler that runs.
func (a *activator) nextVersion(ctx context.Context, m *managed, r *reconcile.Reconciler, loaded *build.Loaded, scripts *store.ScriptVersions) *call.Version {
	var with *revisions.Revisions
	if r.Binding().Revisions != nil {
		copied := *r.Binding().Revisions
		copied.Scripts = scripts
		with = &copied
	}
	next := call.NewVersion(loaded.Built.Hooks(), with, func() { a.queue.Add(m.id) })
	next.Loaded = loaded
	next.Canary = a.versions.canary(ctx, m, loaded.Candidate, r, r.Current().Canary.Failing())
	return next
}

// scriptVersions returns the versions of c's scripts, or nil if scripts are not part of revisions. Older versions use the
// webhooks of now, the current version.
func (a *activator) scriptVersions(c *build.Candidate, builder *build.Builder, now *build.Built) *store.ScriptVersions {
	if !c.ScriptRevisions || now.Digest == "" {
		return nil
	}
	older := *builder
	older.Before = now
	return &store.ScriptVersions{
		DryRun: a.DryRun, Store: a.versions.store, Owner: store.OwnerOf(c), Digest: now.Digest, Current: c.ScriptVersion(), Older: map[string]build.Built{},
		Load: func(ctx context.Context, then build.ScriptVersion) (build.Built, error) {
			return older.BuildVersion(ctx, c, then)
		},
	}
}

// side opens c for a guard, with hooks and a Binding of its own.
func (a *activator) side(ctx context.Context, builder *build.Builder, c *build.Candidate) (*guard.Side, error) {
	builder.Before = nil // its webhooks are closed with the side
	opened, err := *c, error(nil)
	if opened.Resolved, err = spec.Discover(c.Declaration, a.resources); err != nil {
		return nil, err
	}
	built, err := builder.Build(ctx, c.Declaration, c.Parts)
	if err != nil {
		return nil, err
	}
	b, err := a.bind(&opened, built, nil)
	if err != nil {
		return nil, err
	}
	a.identityKinds.Update(b)
	return &guard.Side{Binding: b, Hooks: built.Hooks()}, nil
}

// bind makes the Binding of c and opens its caches.
func (a *activator) bind(c *build.Candidate, built build.Built, metrics prometheus.Registerer) (*binding.Binding, error) {
	d := c.Declaration
	b, err := binding.Bind(d, c.Resolved)
	if err != nil {
		return nil, err
	}
	b.Controller, b.Hooks = spec.ForHooks(c.Object), built.Hooks()
	a.bindCustomize(b)
	if err := a.accounts.Bind(b, account.Of(d.Settings.ServiceAccount)); err != nil {
		return nil, err
	}
	b.Only, b.DryRun = a.Only, a.DryRun
	b.Outdated = a.outdated(c)
	b.Metrics = a.counts
	b.ResyncPeriod, b.RetryPeriod, b.ProbeEvery = sooner(b.ResyncPeriod, a.FlushInterval), a.FlushInterval, a.ProbeEvery
	b.ServerSide = cmp.Or(d.Settings.ApplyStrategy, a.ApplyStrategy) == v1alpha1.ServerSideApply
	b.FieldManager = a.FieldManager
	b.Workers = cmp.Or(b.Workers, a.Workers)
	b.Clients = built.Clients
	if err := b.Clients.Open(a.references, metrics, build.Reader{Permit: a.accounts.Permit(b.Access.Account()), Get: b.GetLive}); err != nil {
		b.Release()
		return nil, err
	}
	a.openCaches(b, c.Resolved)
	if d.Shape == hook.Decorator {
		b.Claimer = &claim.ByAnnotations{Children: b.Children, Annotations: b.ChildAnnotations}
	} else {
		b.Claimer = &claim.BySelector{Children: b.Children, Selector: b.Match, GetLive: b.GetLive, Left: b.Left}
	}
	return b, nil
}

// outdated returns the Outdated of the Binding of c.
func (a *activator) outdated(c *build.Candidate) func() bool {
	id, uid, who := c.ID(), c.Object.GetUID(), account.Of(c.Settings.ServiceAccount)
	return func() bool {
		o := a.watches.get(id)
		return o == nil || o.GetUID() != uid || spec.AccountOf(o) != who
	}
}

// bindCustomize sets the fields of b that the customize hook needs.
func (a *activator) bindCustomize(b *binding.Binding) {
	b.Discover = a.resources
	b.RelatedScope.Watched = a.WatchNamespaces
	b.OnRelated = func(parent object.Ref, rules []related.Rule) {
		for _, rule := range rules {
			a.noteRelated(b, rule)
		}
		if a.OnRelated != nil {
			a.OnRelated(b.ID, parent, rules)
		}
	}
}

// noteRelated adds the kinds of a rule of the customize hook to those of b.
func (a *activator) noteRelated(b *binding.Binding, rule related.Rule) {
	for _, resource := range rule.Resources() {
		if _, seen := b.RelatedKinds.Swap(resource.ObjectKind(), resource.HasStatus); !seen {
			a.identityKinds.Update(b)
		}
	}
}

func (a *activator) openCaches(b *binding.Binding, found spec.Resolved) {
	for _, parent := range b.Parents {
		parent.Cache = a.caches.Open(informer.Spec{Resource: parent.GroupVersionResource, Namespaced: parent.Namespaced})
	}
	opened := map[object.Kind]int{} // the index of a kind in Children
	for _, rule := range found.Children {
		kind := rule.ObjectKind()
		i, found := opened[kind]
		if !found {
			i, opened[kind] = len(b.Children), len(b.Children)
			cache := a.caches.Open(informer.Spec{Resource: rule.GroupVersionResource, Namespaced: rule.Namespaced, Label: b.ChildLabel})
			b.Children = append(b.Children, claim.Cache{Kind: kind, Informer: cache})
		}
		b.Children[i].Plain, b.Children[i].Adoption = rule.Plain, rule.Adopts // the last rule of a kind counts
	}
	if b.Revisions != nil {
		b.Revisions.Cache, b.Revisions.GetLive = a.caches.Open(informer.Spec{Resource: v1alpha1.ControllerRevisions, Namespaced: true}), b.GetLive
		b.Revisions.Schema = func(ctx context.Context) (*schemas.Kind, error) { return a.schemas.Of(ctx, b.Revisions.Parent) }
	}
}

// sooner returns the shorter of two periods. Zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a > 0 && b > 0 {
		return min(a, b)
	}
	return max(a, b)
}

// start starts a Reconciler. It stops the one that runs for the same object, if any.
func (a *activator) start(ctx context.Context, m *managed, b *binding.Binding, loaded *build.Loaded) {
	o := loaded.Candidate.Object
	inner, cancel := context.WithCancel(ctx)
	options := reconcile.Options{
		Events: b.Events, ControllerEvents: a.events, Log: a.Log, Changed: func() { a.queue.Add(b.ID) }, // so that the status reports it
		Observer: a.Observer, Sinks: a.Sinks, Shared: a.shared, Leading: a.leading, Loaded: loaded, FinalizersReleased: finalizers.Removes(o),
	}
	var failing map[object.Ref]bool
	if before := m.active.Load(); before != nil {
		options.Before, failing = before.Reconciler, before.Current().Canary.Failing()
		b.Access.Continue(before.Binding().Access)
		a.stop(m)
	}
	a.events.Normal(o, "Starting", "Starting controller: %s", b.Name)
	reconciler := reconcile.New(b, options)
	reconciler.Current().Canary = a.versions.canary(ctx, m, loaded.Candidate, reconciler, failing)
	begun := make(chan struct{})
	r := &running{Reconciler: reconciler, object: o, stop: cancel, end: sync.OnceFunc(func() {
		<-begun
		reconciler.End(inner)
	})}
	m.active.Store(r)
	a.identityKinds.Update(b) // now that the Reconciler is known to the watch of definitions
	go func() {               // ends when Begin has returned
		err := a.begin(inner, r)
		close(begun)
		if err != nil {
			cancel()
			r.end()
			a.failed(m, r, err)
		}
	}()
}

// begin calls Begin of a Reconciler. A panic becomes an error.
func (a *activator) begin(ctx context.Context, r *running) (err error) {
	o := r.object
	defer func() {
		if p := recover(); p != nil {
			a.Log.Error("panic in a controller, please report it", "controller", o.GetName(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.Begin(ctx, func() {
		loaded := r.Current().Loaded
		a.Log.Info("started", "controller", o.GetName(), "generation", loaded.Generation, "isolation", loaded.Built.Isolation)
		a.observeLoaded(o, r)
		a.events.Normal(o, "Started", "Started controller: %s", o.GetName())
		a.queue.Add(spec.IDOf(o)) // so that the status reports it
		a.strays.Want()
	})
}

// failed queues a controller whose Reconciler ended with an error, so that it is loaded again.
func (a *activator) failed(m *managed, r *running, err error) {
	a.Log.Error("the controller ended", "controller", m.id.Name, "error", err)
	if !r.Binding().Access.Account().IsServer() { // users of all tenants may read the event
		err = errors.New("the log of the server has the error")
	}
	a.events.Warning(r.object, "SyncError", "[%s] Sync error - the controller ended: %v", r.object.GetName(), err)
	m.active.CompareAndSwap(r, nil)
	a.queue.AddAfter(m.id, time.Second)
}

// stop stops the Reconciler of a controller, if one runs, and waits until it has ended.
func (a *activator) stop(m *managed) {
	m.guard.Stop()
	r := m.active.Swap(nil)
	if r == nil {
		return
	}
	a.events.Normal(r.object, "Stopping", "Stopping controller: %s", m.id.Name)
	r.stop()
	r.end()
	a.Log.Info("stopped", "controller", m.id.Name)
	a.events.Normal(r.object, "Stopped", "Stopped controller: %s", m.id.Name)
}

// stopAll stops all Reconcilers concurrently, and waits until they have ended.
func (a *activator) stopAll() {
	all := a.records.running()
	for _, r := range all {
		r.stop()
	}
	var ending sync.WaitGroup
	for _, m := range a.records.all() {
		ending.Go(m.guard.Stop)
	}
	for _, r := range all {
		ending.Go(r.end)
	}
	ending.Wait()
}

// observeLoaded calls the Observer with a controller whose hooks are about to be used.
func (a *activator) observeLoaded(o *object.Object, r *running) {
	if a.Observer != nil {
		a.Observer.Loaded(o, r.Binding().ReconciledParents())
	}
}
