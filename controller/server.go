package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/controller/work"
)

// A Server runs the controllers of a cluster: one Reconciler for each controller object. It starts, replaces and stops them
// as objects are created, updated and deleted.
type Server struct {
	*environment
	watches *watches
	loader  *loader
	loads   work.Limit // of the controllers of each tenant

	ready   atomic.Bool     // see Waiting
	waiting throttle.Recent // the result of Waiting
}

// New connects to a cluster. Nothing runs before Run.
func New(o Options) (*Server, error) {
	e, err := newEnvironment(o)
	if err != nil {
		return nil, err
	}
	s := &Server{environment: e, watches: newWatches(e), loads: work.Limit{Most: tenantLoads}}
	s.loader = newLoader(e, s.watches)
	return s, s.registerCollector()
}

func (s *Server) registerCollector() error {
	if s.Options.Metrics == nil {
		return nil
	}
	if err := s.Options.Metrics.Register(metrics.NewCollector(s.state)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// workers is how many controller objects are loaded concurrently. A script may need its whole timeout to compile, and a
// Reconciler that is replaced may need some time to end; the other controllers must not wait for them.
const workers = 32

// Secrets returns the Secrets that the server has in its caches.
func (s *Server) Secrets() []*object.Object { return s.caches.Secrets() }

// Run runs the server until ctx is done. Then it waits until reconciles that have begun end.
func (s *Server) Run(ctx context.Context) error {
	defer s.events.Shutdown()
	defer s.watchConnection(ctx)()
	if s.candidate != nil {
		s.events.Mute(true)
		return s.candidate.Run(ctx, lease.Callbacks{Lead: s.lead, Lose: func() { s.events.Mute(true) }, Serve: s.run})
	}
	s.leading.Open()
	return s.run(ctx)
}

// watchConnection keeps the state of the connection to the API server up to date until the function that it returns is called.
func (s *Server) watchConnection(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.connection.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// lead starts the workers of all Reconcilers. It is called once.
func (s *Server) lead() {
	s.events.Mute(false)
	s.leading.Open()
}

func (s *Server) run(ctx context.Context) error {
	defer s.queue.ShutDown() // also if opening the watches fails
	defer s.watches.close()
	if err := s.watches.open(); err != nil {
		return err
	}
	if s.Folders != nil {
		defer s.Folders.FollowChanges(s.loader.sources.filesChanged)()
	}
	defer s.accounts.Reviewer.Close()
	defer s.references.Close()
	defer s.loader.reporter.blocked.Close()
	defer s.loader.reporter.details.Close()
	if !s.watches.waitForSync(ctx) {
		return nil // ctx is done
	}
	var under sync.WaitGroup
	s.begin(ctx, &under)
	<-ctx.Done()
	s.queue.ShutDown()
	under.Wait()
	s.loader.activator.stopAll()
	s.shadows.Wait()
	return nil
}

// begin starts the goroutines that run until ctx is done.
func (s *Server) begin(ctx context.Context, under *sync.WaitGroup) {
	under.Go(func() { s.reloadWhenLeading(ctx) })
	under.Go(func() { s.sandbox.WatchRunaways(ctx, s.queue.Add) })
	under.Go(func() { s.strays.Run(ctx) })
	if s.Static == nil { // static controllers must not delete what those in the cluster have stored
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

const (
	tenantLoads = workers / 4            // how many controllers of a tenant are loaded concurrently
	loadLater   = 100 * time.Millisecond // when one is tried again that had to wait for others
)

// reloadWhenLeading queues all controllers when the server begins to lead, so that their status reports the result.
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
			s.loads.Run(spec.TenantOf(s.watches.get(id)), func() {
				began := time.Now()
				s.process(ctx, id)
				s.order.Worked(id, began)
			}, func() { s.queue.AddAfter(id, loadLater) })
		}
		s.queue.Done(id)
	}
}

// How often a controller is loaded again to update its status: with the number of its parents, and more often while its caches
// are not synced. With many controllers the period is longer, so that at most refreshesSecond are loaded per second.
const (
	refresh         = time.Minute
	whileSyncing    = 5 * time.Second
	refreshesSecond = 5
)

// refreshAfter returns the period in which each of n controllers is loaded again.
func refreshAfter(n int) time.Duration {
	return max(refresh, time.Duration(n)*time.Second/refreshesSecond)
}

// process loads one controller object and decides when it is loaded again.
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
		s.queue.AddAfter(id, whileSyncing)
		return
	}
	s.queue.AddAfter(id, refreshAfter(len(s.records.running())))
}

// guarded calls load. It turns a panic into an error of this controller.
func (s *Server) guarded(ctx context.Context, id spec.ID) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error("panic while a controller was loaded, please report it", "controller", id.Name, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.loader.load(ctx, id)
}
