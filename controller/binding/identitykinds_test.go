package binding

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

func TestOnlyFirstVersionOfKindHasIdentity(t *testing.T) {
	v1, beta := object.Kind{Group: "g", Version: "v1", Kind: "K"}, object.Kind{Group: "g", Version: "v1beta1", Kind: "K"}
	pod := object.Kind{Version: "v1", Kind: "Pod"}
	k := NewIdentityKinds()
	for _, c := range []struct {
		kinds []object.Kind
		want  map[object.Kind]bool
	}{
		{[]object.Kind{beta, pod}, map[object.Kind]bool{beta: true, pod: true}},
		{[]object.Kind{v1, pod}, map[object.Kind]bool{v1: false, pod: true}},
		{[]object.Kind{beta}, map[object.Kind]bool{beta: true}},
	} {
		if diff := cmp.Diff(c.want, k.check(c.kinds)); diff != "" {
			t.Errorf("of %v (-want +got):\n%s", c.kinds, diff)
		}
	}
	k.Changed("g")
	if diff := cmp.Diff(map[object.Kind]bool{beta: false, pod: true}, k.check([]object.Kind{beta, pod})); diff != "" {
		t.Errorf("after an edit of a definition (-want +got):\n%s", diff)
	}
}
