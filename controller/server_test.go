package controller

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// newServer gives a server of no cluster, which does not run.
func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.events.Shutdown)
	t.Cleanup(s.queue.ShutDown)
	return s
}

func TestServerStaysReady(t *testing.T) {
	s := newServer(t)
	if diff := cmp.Diff([]string{"the server is about to start"}, s.Waiting()); diff != "" {
		t.Errorf("it waits for (-want +got):\n%s", diff)
	}
	s.watches.hasSynced.Store(true)
	if waiting := s.Waiting(); waiting != nil {
		t.Errorf("it waits for %v", waiting)
	}
	s.watches.hasSynced.Store(false)
	if waiting := s.Waiting(); waiting != nil {
		t.Errorf("once ready, it waits for %v", waiting)
	}
}

func TestServerWithHeldLockIsNotHealthy(t *testing.T) {
	s := newServer(t)
	if err := s.Healthy(t.Context()); err != nil {
		t.Errorf("it is not healthy: %v", err)
	}
	s.records.mu.Lock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Healthy(ctx); err == nil {
		t.Error("it is healthy although one of its locks is held")
	}
	s.records.mu.Unlock()
	if err := s.Healthy(t.Context()); err != nil {
		t.Errorf("it is not healthy any more: %v", err)
	}
}

// A tenant whose controllers take long to load leaves workers for the others.
func TestLoadsOfTenantAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, block := &loads{now: map[string]int{}}, make(chan struct{})
		var loaded, postponed atomic.Int32
		load := func() {
			loaded.Add(1)
			<-block
		}
		var all sync.WaitGroup
		for range 2 * workers {
			all.Go(func() { l.run("a", load, func() { postponed.Add(1) }) })
		}
		synctest.Wait()
		if loaded.Load() != tenantLoads || postponed.Load() != 2*workers-tenantLoads {
			t.Errorf("%d controllers of a tenant are being loaded, and %d were postponed", loaded.Load(), postponed.Load())
		}
		for _, tenant := range []string{"b", ""} {
			all.Go(func() { l.run(tenant, load, func() { t.Errorf("tenant %q waits for another", tenant) }) })
		}
		for range workers {
			all.Go(func() { l.run("", load, func() { t.Error("a controller without an account waits") }) })
		}
		close(block)
		all.Wait()
		l.run("a", func() {}, func() { t.Error("a tenant waits for loads that have ended") })
		if len(l.now) != 0 {
			t.Errorf("left over: %v", l.now)
		}
	})
}
