package controller

import (
	"context"
	"testing"
	"time"

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

func TestAServerIsReadyOnceAndForAll(t *testing.T) {
	s := newServer(t)
	if diff := cmp.Diff([]string{"the server is about to start"}, s.Waiting()); diff != "" {
		t.Errorf("it waits for (-want +got):\n%s", diff)
	}
	s.known.Store(true)
	if waiting := s.Waiting(); waiting != nil {
		t.Errorf("it waits for %v", waiting)
	}
	s.known.Store(false)
	if waiting := s.Waiting(); waiting != nil {
		t.Errorf("once ready, it waits for %v", waiting)
	}
}

func TestAServerWhoseLockIsHeldIsNotHealthy(t *testing.T) {
	s := newServer(t)
	if err := s.Healthy(t.Context()); err != nil {
		t.Errorf("it is not healthy: %v", err)
	}
	s.mu.Lock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Healthy(ctx); err == nil {
		t.Error("it is healthy although one of its locks is held")
	}
	s.mu.Unlock()
	if err := s.Healthy(t.Context()); err != nil {
		t.Errorf("it is not healthy any more: %v", err)
	}
}

func TestTheSoonerOfTwoPeriods(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {3, 5, 3}, {5, 3, 3}} {
		if got := sooner(c.a, c.b); got != c.want {
			t.Errorf("of %d and %d: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
