package reconcile

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"metascript/controller/object/objecttest"
)

func TestTheLogHasTheSameFailureEverMoreSeldom(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	defer r.Close()
	defer r.queue.ShutDown()
	var log bytes.Buffer
	r.events.log = slog.New(slog.NewTextHandler(&log, nil))
	w := objecttest.WidgetRef("default", "w")
	lines := func() int { return strings.Count(log.String(), "reconcile failed") }
	for range 1000 {
		r.worker.reportFailure(w, "SyncError", errors.New("same"))
	}
	if n := lines(); n != 10 {
		t.Errorf("the log has it %d times, want 10", n)
	}
	r.worker.reportFailure(w, "SyncError", errors.New("another"))
	r.states.forgetFailure(w)
	r.worker.reportFailure(w, "SyncError", errors.New("another"))
	r.worker.reportFailure(objecttest.WidgetRef("default", "v"), "SyncError", errors.New("another"))
	if n := lines(); n != 13 {
		t.Errorf("the log has %d lines, want 13", n)
	}
}
