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
	l, _ := NewTestLoop(t, wants(), nil)
	defer l.Close()
	defer l.queue.ShutDown()
	var log bytes.Buffer
	l.events.log = slog.New(slog.NewTextHandler(&log, nil))
	w := objecttest.WidgetRef("default", "w")
	lines := func() int { return strings.Count(log.String(), "reconcile failed") }
	for range 1000 {
		l.worker.report(w, "SyncError", errors.New("same"))
	}
	if n := lines(); n != 10 {
		t.Errorf("the log has it %d times, want 10", n)
	}
	l.worker.report(w, "SyncError", errors.New("another"))
	l.states.forgetFailure(w)
	l.worker.report(w, "SyncError", errors.New("another"))
	l.worker.report(objecttest.WidgetRef("default", "v"), "SyncError", errors.New("another"))
	if n := lines(); n != 13 {
		t.Errorf("the log has %d lines, want 13", n)
	}
}
