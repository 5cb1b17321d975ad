package reconcile

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/preview"
	"metascript/engine"
)

// What a preview says before each reconcile of random histories is what the reconcile writes.
func TestPreviewForetellsReconciles(t *testing.T) {
	var all foretelling
	for seed := range uint64(16) {
		synctest.Test(t, func(t *testing.T) {
			random, w := rand.New(rand.NewPCG(seed, 2)), newSmallWorldOf(t, seed%2 == 0, engine.Starlark)
			w.around = func(key object.Ref, process func()) { all.check(t, w, key, process) }
			for range 60 {
				w.act(t, random)
				if random.IntN(4) > 0 {
					w.settle(t)
				}
			}
			time.Sleep(time.Hour) // what was postponed is done
			w.settle(t)
		})
	}
	t.Logf("%d writes were foretold, %d of them done later", all.writes, all.later)
	if all.writes < 300 || all.later > all.writes/3 {
		t.Errorf("%d writes were foretold, and %d of them not done at once", all.writes, all.later)
	}
}

// A foretelling compares previews with reconciles.
type foretelling struct{ writes, later int }

// check computes a preview for a parent, calls process, which may reconcile it, and compares the writes.
func (f *foretelling) check(t *testing.T, w *smallWorld, key object.Ref, process func()) {
	t.Helper()
	parent, state := w.binding.Parent(key), w.states.find(key)
	if parent == nil || state != nil && w.worker.cacheDelay(state) > 0 {
		process()
		return
	}
	p := preview.New(w.binding, w.current.Load().Hooks, &w.shared.Related, nil)
	calls, before := w.calls, len(w.writes)
	told := p.Parent(t.Context(), parent, preview.State{})
	w.calls = calls
	p.Close()
	if len(w.writes) != before {
		t.Fatalf("the preview of %s wrote %q", key, w.writes[before:])
	}
	process()
	written := slices.DeleteFunc(slices.Clone(w.writes[before:]), func(op string) bool {
		return strings.Contains(op, "adopted by") || strings.Contains(op, "released by")
	})
	if told.Err == nil {
		f.compare(t, w, told, written)
	}
}

func (f *foretelling) compare(t *testing.T, w *smallWorld, told *preview.Result, written []string) {
	t.Helper()
	var foretold []string
	for _, write := range told.Writes {
		foretold = append(foretold, write.Op.String())
	}
	f.writes += len(foretold)
	for _, op := range written {
		if !slices.Contains(foretold, op) {
			t.Fatalf("the reconcile of %s wrote %q, and the preview said %q", told.Parent, op, foretold)
		}
	}
	for _, op := range foretold {
		state := w.states.find(told.Parent)
		switch {
		case slices.Contains(written, op):
		case strings.HasPrefix(op, string(plan.UpdateStatus)), !state.children.Quiet(time.Now()), w.queue.Pending(told.Parent) != 0:
			f.later++ // it is left to the next reconcile, or delayed
		default:
			t.Fatalf("the preview of %s said %q, and the reconcile wrote %q", told.Parent, op, written)
		}
	}
}

// previewOf returns the preview of a parent with the current hooks; nil if there is no such parent.
func previewOf(t *testing.T, r *Reconciler, key object.Ref) *preview.Result {
	t.Helper()
	parent := r.binding.Parent(key)
	if parent == nil {
		return nil
	}
	p := preview.New(r.binding, r.current.Load().Hooks, &r.shared.Related, nil)
	defer p.Close()
	return p.Parent(t.Context(), parent, preview.State{})
}

// compareWithPreview compares a preview with what a reconcile wrote, as plantest.Recorder says it.
func compareWithPreview(t *testing.T, told *preview.Result, written []string) {
	t.Helper()
	var foretold []string
	for _, write := range told.Writes {
		foretold = append(foretold, string(write.Verb)+" "+object.Describe(write.Object))
	}
	if told.Err != nil || !slices.Equal(foretold, written) {
		t.Errorf("the preview said %q with the error %v, and the reconcile wrote %q", foretold, told.Err, written)
	}
}
