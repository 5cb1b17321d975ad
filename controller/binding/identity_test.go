package binding

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

func TestOnlyTheFirstVersionOfAKindCounts(t *testing.T) {
	v1, beta := object.Kind{Group: "g", Version: "v1", Kind: "K"}, object.Kind{Group: "g", Version: "v1beta1", Kind: "K"}
	pod := object.Kind{Version: "v1", Kind: "Pod"}
	f := NewIdentityKinds()
	for _, c := range []struct {
		Resources []object.Kind
		want      map[object.Kind]bool
	}{
		{[]object.Kind{beta, pod}, map[object.Kind]bool{beta: true, pod: true}},
		{[]object.Kind{v1, pod}, map[object.Kind]bool{v1: false, pod: true}},
		{[]object.Kind{beta}, map[object.Kind]bool{beta: true}},
	} {
		if diff := cmp.Diff(c.want, f.among(c.Resources...)); diff != "" {
			t.Errorf("of %v (-want +got):\n%s", c.Resources, diff)
		}
	}
	f.Changed("g")
	if diff := cmp.Diff(map[object.Kind]bool{beta: false, pod: true}, f.among(beta, pod)); diff != "" {
		t.Errorf("once a definition changed (-want +got):\n%s", diff)
	}
}
