package replay

import (
	"testing"

	"metascript/controller/recording"
)

func TestNamesOfParentsWithoutReconcile(t *testing.T) {
	refs := []recording.Ref{{Namespace: "default", Name: "a"}, {Namespace: "default", Name: "b"}}
	for count, want := range map[int]string{2: "default/a, default/b", 9: "default/a, default/b, and others"} {
		if got := namesOf(recording.UnrecordedOf{Count: count, Parents: refs}); got != want {
			t.Errorf("of %d: got %q, want %q", count, got, want)
		}
	}
}
