package reconcile

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"metascript/controller/object/objecttest"
)

func TestSameFailureIsLoggedLessOften(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	defer r.close()
	defer r.queue.ShutDown()
	var log bytes.Buffer
	r.events.log = slog.New(slog.NewTextHandler(&log, nil))
	w := objecttest.WidgetRef("default", "w")
	lines := func() int { return strings.Count(log.String(), "reconcile failed") }
	for range 1000 {
		r.worker.reportFailure(w, "SyncError", errors.New("same"))
	}
	if n := lines(); n != 10 {
		t.Errorf("it was logged %d times, want 10", n)
	}
	r.worker.reportFailure(w, "SyncError", errors.New("another"))
	r.states.forgetFailure(w)
	r.worker.reportFailure(w, "SyncError", errors.New("another"))
	r.worker.reportFailure(objecttest.WidgetRef("default", "v"), "SyncError", errors.New("another"))
	if n := lines(); n != 13 {
		t.Errorf("the log has %d lines, want 13", n)
	}
}

func TestCacheDelayIsLimited(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	key := objecttest.WidgetRef("default", "w")
	shown, state := false, r.states.of(key)
	tracker{state: state}.expect(func() bool { return shown })
	if r.worker.cacheDelay(state) == 0 {
		t.Error("there is no delay for a write that the caches do not show")
	}
	shown = true
	if r.worker.cacheDelay(state) > 0 {
		t.Error("there is a delay for a write that the caches show")
	}
	tracker{state: state}.expect(func() bool { return false })
	state.pending.since = time.Now().Add(-maxCacheDelay)
	if r.worker.cacheDelay(state) > 0 {
		t.Error("there is a delay after maxCacheDelay")
	}
	if len(state.pending.shown) > 0 {
		t.Error("the pending writes were not dropped")
	}
}
