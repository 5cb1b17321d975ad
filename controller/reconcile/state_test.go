package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

func TestFirstAndLastDenialAreNotified(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New(`User "u" cannot create resource "configmaps" in API group ""`))
	notified := 0
	s := newStates(func() { notified++ })
	a, b := objecttest.WidgetRef("default", "a"), objecttest.WidgetRef("default", "b")
	s.noteDenied(b, denied)
	s.noteDenied(a, denied)
	s.noteDenied(a, denied)
	if sum := s.deniedParents(); notified != 1 || sum.Parents != 2 || sum.First != a || sum.Err != error(denied) {
		t.Errorf("notified %d times, got %+v", notified, sum)
	}
	s.noteDenied(a, nil)
	s.noteDenied(b, errors.New("another"))
	if sum := s.deniedParents(); notified != 2 || sum != (Denied{}) {
		t.Errorf("notified %d times, got %+v", notified, sum)
	}
}

func TestFailingParentsAreNotifiedOnceAllWereSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified atomic.Int32
		s := newStates(func() { notified.Add(1) })
		a, b, hidden := objecttest.WidgetRef("default", "a"), objecttest.WidgetRef("default", "b"), objecttest.WidgetRef("default", "hidden")
		has := func(key object.Ref) bool { return key != hidden }
		if sum := s.failures(has); sum.Known {
			t.Errorf("at first: %+v", sum)
		}
		s.expect(slices.Values([]object.Ref{a, b}))
		failed := errors.New("no")
		s.countFailure(hidden, failed)
		s.countFailure(a, failed)
		s.noteSynced(a)
		if sum := s.failures(has); sum.Known || notified.Load() != 0 {
			t.Errorf("after one of two: %+v, notified %d times", sum, notified.Load())
		}
		s.noteSynced(b)
		if sum := s.failures(has); !sum.Known || sum.Failing != 1 || sum.First != a || notified.Load() != 1 {
			t.Errorf("after both: %+v, notified %d times", sum, notified.Load())
		}
		time.Sleep(2 * failuresSettle)
		if notified.Load() != 2 {
			t.Errorf("notified %d times after the first failure", notified.Load())
		}
		s.outdate()
		if sum := s.failures(has); sum.Failing != 1 {
			t.Errorf("after the hooks were replaced: %+v", sum)
		}
		s.forgetFailure(a)
		s.forget(hidden)
		time.Sleep(2 * failuresSettle)
		if sum := s.failures(has); sum.Failing != 0 || notified.Load() != 3 {
			t.Errorf("at the end: %+v, notified %d times", sum, notified.Load())
		}
	})
}

func TestAnotherCauseIsNotifiedWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified atomic.Int32
		s := newStates(func() { notified.Add(1) })
		s.expect(slices.Values([]object.Ref(nil)))
		all := func(object.Ref) bool { return true }
		failAll := func(text string) {
			for i := range 30 {
				name := fmt.Sprint("w", i)
				s.countFailure(objecttest.WidgetRef("default", name), fmt.Errorf("create %s: %s", name, text))
			}
		}
		failAll("quota")
		began := time.Now()
		time.Sleep(failuresSettle)
		synctest.Wait()
		if sum := s.failures(all); notified.Load() != 1 || sum.Shared != 30 || !sum.Since.Equal(began) {
			t.Errorf("at first: notified %d times, %+v", notified.Load(), sum)
		}
		failAll("forbidden")
		time.Sleep(failuresSettle)
		synctest.Wait()
		if sum := s.failures(all); notified.Load() != 2 || sum.Line != "create w0: forbidden" || !sum.Since.Equal(began.Add(failuresSettle)) {
			t.Errorf("after another cause: notified %d times, %+v", notified.Load(), sum)
		}
		for i := range 100 {
			failAll(fmt.Sprint("number ", i))
			time.Sleep(time.Second)
		}
		if n := notified.Load(); n > 20 {
			t.Errorf("notified %d times of a cause that changes each second", n)
		}
	})
}

func TestWhatIsNotStoredIsNotifiedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified atomic.Int32
		s := newStates(func() { notified.Add(1) })
		a, b, hidden := objecttest.WidgetRef("default", "a"), objecttest.WidgetRef("default", "b"), objecttest.WidgetRef("default", "hidden")
		has := func(key object.Ref) bool { return key != hidden }
		for _, parent := range []object.Ref{a, b, hidden} {
			state := s.of(parent)
			s.noteNotStored(state, "status.x is not stored")
		}
		time.Sleep(2 * failuresSettle)
		if sum := s.incomplete(has); sum.Failing != 2 || sum.First != a || sum.Text != "status.x is not stored" || notified.Load() != 1 {
			t.Errorf("got %+v, notified %d times", sum, notified.Load())
		}
		s.noteNotStored(s.of(a), "")
		s.forget(b)
		s.forget(hidden)
		time.Sleep(2 * failuresSettle)
		if sum := s.incomplete(has); sum.Failing != 0 || notified.Load() != 2 {
			t.Errorf("afterwards: %+v, notified %d times", sum, notified.Load())
		}
	})
}
