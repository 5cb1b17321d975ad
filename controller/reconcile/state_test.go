package reconcile

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object/objecttest"
)

func TestFirstAndLastDenialAreNotified(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
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
