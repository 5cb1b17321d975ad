package reconcile

import (
	"errors"
	"testing"

	"metascript/controller/object/objecttest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDenialsAreToldWhenTheFirstComesAndTheLastGoes(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
	told := 0
	d := newStates(func() { told++ })
	a, b := objecttest.WidgetRef("default", "a"), objecttest.WidgetRef("default", "b")
	d.note(b, denied)
	d.note(a, denied)
	d.note(a, denied)
	if sum := d.sum(); told != 1 || sum.Parents != 2 || sum.First != a || sum.Err != error(denied) {
		t.Errorf("told %d times, got %+v", told, sum)
	}
	d.note(a, nil)
	d.note(b, errors.New("another"))
	if sum := d.sum(); told != 2 || sum != (Denied{}) {
		t.Errorf("told %d times, got %+v", told, sum)
	}
}
