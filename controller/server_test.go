package controller

import (
	"context"
	"testing"

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
