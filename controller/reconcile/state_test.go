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
	told := 0
	d := newStates(func() { told++ })
	a, b := objecttest.WidgetRef("default", "a"), objecttest.WidgetRef("default", "b")
	d.noteDenied(b, denied)
	d.noteDenied(a, denied)
	d.noteDenied(a, denied)
	if sum := d.deniedParents(); told != 1 || sum.Parents != 2 || sum.First != a || sum.Err != error(denied) {
		t.Errorf("told %d times, got %+v", told, sum)
	}
	d.noteDenied(a, nil)
	d.noteDenied(b, errors.New("another"))
	if sum := d.deniedParents(); told != 2 || sum != (Denied{}) {
		t.Errorf("told %d times, got %+v", told, sum)
	}
}
