package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"metascript/controller/lease"
	"metascript/controller/spec"
)

// A Server runs the controllers of a cluster: one Reconciler for each controller object, started, replaced and stopped as
// the objects come, change and go.
type Server struct {
	*environment
	watches *watches
	loader  *loader

	ready   atomic.Bool // see Waiting
	waiting recent      // the answer of Waiting
}

// New connects to a cluster; nothing runs before Run.
func New(o Options) (*Server, error) {
	e, err := newEnvironment(o)
	if err != nil {
		return nil, err
	}
	s := &Server{environment: e, watches: newWatches(e)}
	s.loader = newLoader(e, s.watches)
	return s, s.registerCollector()
}

func (s *Server) registerCollector() error {
	if s.Options.Metrics == nil {
		return nil
	}
	if err := s.Options.Metrics.Register(collector{s.records, s.caches, s.leading, s.Election}); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// workers is how many controller objects are loaded at the same time: a script may take its whole timeout to
// compile, and a Reconciler that is replaced may take a while to end, and must not keep the others waiting.
const workers = 32

// Run follows the controller objects until ctx is done; then it lets what is under way finish.
func (s *Server) Run(ctx context.Context) error {
	defer s.events.Shutdown()
	if s.candidate != nil {
		s.events.Mute(true)
		return s.candidate.Run(ctx, lease.Callbacks{Lead: s.lead, Lose: func() { s.events.Mute(true) }, Serve: s.run})
	}
	s.leading.Open()
	return s.run(ctx)
}

// lead lets what stands by begin. It is called once.
func (s *Server) lead() {
	s.events.Mute(false)
	s.leading.Open()
}

func (s *Server) run(ctx context.Context) error {
	defer s.queue.ShutDown() // also when it ends before it begins
	defer s.watches.close()
	if err := s.watches.open(); err != nil {
		return err
	}
	if s.Folders != nil {
		defer s.Folders.FollowChanges(s.loader.sources.filesChanged)()
	}
	defer s.references.Close()
	defer s.loader.reporter.blocked.Close()
	if !s.watches.waitForSync(ctx) {
		return nil // ctx is done
	}
	var under sync.WaitGroup
	s.begin(ctx, &under)
	<-ctx.Done()
	s.queue.ShutDown()
	under.Wait()
	s.loader.activator.stopAll()
	return nil
}

// begin begins what runs until ctx is done.
func (s *Server) begin(ctx context.Context, under *sync.WaitGroup) {
	under.Go(func() { s.reloadWhenLeading(ctx) })
	under.Go(func() { s.loader.reporter.watchRunaways(ctx) })
	if s.Static == nil { // else there are others in the cluster, whose scripts are not ours to remove
		under.Go(func() { s.sweep(ctx) })
	}
	if s.Folders != nil {
		under.Go(func() { s.Folders.Run(ctx) })
		under.Go(func() { s.loader.checkFiles(ctx) })
	}
	for range workers {
		under.Go(func() { s.work(ctx) })
	}
}

// reloadWhenLeading has every controller looked at again once the server leads, so that their status reports the result.
func (s *Server) reloadWhenLeading(ctx context.Context) {
	if s.leading.Wait(ctx) {
		s.watches.queueAll(0)
	}
}

func (s *Server) work(ctx context.Context) {
	for {
		id, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			began := time.Now()
			s.process(ctx, id)
			s.order.Worked(id, began)
		}
		s.queue.Done(id)
	}
}

// How often the status of a controller that runs is looked at, for the count of its parents, and of one whose caches
// are being filled or in trouble. When there are many controllers, each is looked at less often, so that there are not
// more looks a second in all.
const (
	refresh         = time.Minute
	whileFilled     = 5 * time.Second
	refreshesSecond = 5
)

// refreshAfter is when n controllers are each looked at again.
func refreshAfter(n int) time.Duration {
	return max(refresh, time.Duration(n)*time.Second/refreshesSecond)
}

// process loads one controller object and decides when to look again.
func (s *Server) process(ctx context.Context, id spec.ID) {
	err := s.guarded(ctx, id)
	exists, m := s.watches.get(id) != nil, s.records.get(id)
	if exists && m != nil {
		m.loaded.Store(true)
	}
	if err != nil && ctx.Err() == nil {
		s.order.Retried(id)
		s.queue.AddRateLimited(id)
		return
	}
	s.queue.Forget(id)
	if !exists || m == nil {
		return
	}
	if r := m.active.Load(); r != nil && (!r.HasSynced() || r.Binding().CacheError() != nil) {
		s.queue.AddAfter(id, whileFilled)
		return
	}
	s.queue.AddAfter(id, refreshAfter(len(s.records.running())))
}

// guarded turns a panic into an error of this one controller.
func (s *Server) guarded(ctx context.Context, id spec.ID) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error("panic while a controller was loaded, please report it", "controller", id.Name, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.loader.load(ctx, id)
}
