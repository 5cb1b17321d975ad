package work

import (
	"reflect"
	"testing"
)

// A map that had many keys is another one when it is empty, and only then.
func TestMapThatHadManyKeysIsReplaced(t *testing.T) {
	for _, keys := range []int{10, many, 2 * many} {
		m, most := map[int]int{}, Most(0)
		first := reflect.ValueOf(m).Pointer()
		for i := range keys + 1 {
			m[i] = i
		}
		for i := range keys + 1 {
			if reflect.ValueOf(m).Pointer() != first {
				t.Fatalf("the map of %d keys was replaced when %d were left", keys, len(m))
			}
			delete(m, i)
			m = Emptied(m, &most)
		}
		if replaced := reflect.ValueOf(m).Pointer() != first; replaced != (keys >= many) || len(m) > 0 {
			t.Errorf("the map of %d keys was replaced: %v", keys, replaced)
		}
		m[1] = 1
	}
}
