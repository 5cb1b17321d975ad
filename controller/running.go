package controller

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
)

// running is a loop and the version of the controller object that it runs.
type running struct {
	loop   *reconcile.Reconciler
	object *object.Object // the controller object
	stop   context.CancelFunc
	end    func() // after stop: waits until the loop has ended
}

// start runs a loop, in place of the one that may run for the same object.
func (s *Server) start(ctx context.Context, c *build.Candidate, b *reconcile.Binding, about *build.Version) {
	o, before, failing := c.Object, s.get(b.ID), map[object.Ref]bool(nil)
	if before != nil {
		failing = before.loop.Failing()
	}
	s.stop(b.ID)
	s.events.Normal(o, "Starting", "Starting controller: %s", b.Name)
	inner, cancel := context.WithCancel(ctx)
	options := reconcile.Options{
		Events: s.events, Log: s.Log, Changed: func() { s.queue.Add(b.ID) }, // so that the status reports it
		Leading: s.leading, Loaded: about, FinalizersReleased: reconcile.RemovesFinalizers(o),
	}
	if before != nil {
		options.Before = before.loop
	}
	loop := reconcile.New(b, options)
	loop.Current().Canary = s.trialOf(ctx, c, loop, failing)
	begun := make(chan struct{})
	r := &running{loop: loop, object: o, stop: cancel, end: sync.OnceFunc(func() {
		<-begun
		loop.End(inner)
	})}
	s.mu.Lock()
	s.running[b.ID] = r
	s.mu.Unlock()
	s.firsts.Update(b) // now that it is told of changes
	go func() {        // which ends when the loop has begun
		err := s.begin(inner, o, r)
		close(begun)
		if err != nil {
			cancel()
			r.end()
			s.failed(o, r, err)
		}
	}()
}

// begin begins a loop. A panic is an error.
func (s *Server) begin(ctx context.Context, o *object.Object, r *running) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic in a controller, please report it", "controller", o.GetName(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.loop.Begin(ctx, func() {
		about := r.loop.Current().Loaded
		s.Log.Info("started", "controller", o.GetName(), "generation", about.Generation, "isolation", about.Built.Isolation)
		s.loaded(o)
		s.events.Normal(o, "Started", "Started controller: %s", o.GetName())
		s.queue.Add(spec.IDOf(o)) // so that the status tells it
	})
}

// failed has a loop that ended by an error of its own loaded again.
func (s *Server) failed(o *object.Object, r *running, err error) {
	s.events.Warning(o, "SyncError", "[%s] Sync error - the controller ended: %v", o.GetName(), err)
	s.mu.Lock()
	if s.running[spec.IDOf(o)] == r {
		delete(s.running, spec.IDOf(o))
	}
	s.mu.Unlock()
	s.queue.AddAfter(spec.IDOf(o), time.Second)
}

// stop ends the loop of that name and waits for it; it reports whether there was one.
func (s *Server) stop(name spec.ID) bool {
	s.mu.Lock()
	r := s.running[name]
	delete(s.running, name)
	s.mu.Unlock()
	if r == nil {
		return false
	}
	s.events.Normal(r.object, "Stopping", "Stopping controller: %s", name.Name)
	r.stop()
	r.end()
	s.Log.Info("stopped", "controller", name.Name)
	s.events.Normal(r.object, "Stopped", "Stopped controller: %s", name.Name)
	return true
}

// stopAll ends every loop at the same time, and waits for them.
func (s *Server) stopAll() {
	all := s.all()
	for _, r := range all {
		r.stop()
	}
	var ending sync.WaitGroup
	for _, r := range all {
		ending.Go(r.end)
	}
	ending.Wait()
}

func (s *Server) all() []*running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.running))
}

// count is how many loops run.
func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

func (s *Server) get(name spec.ID) *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[name]
}
