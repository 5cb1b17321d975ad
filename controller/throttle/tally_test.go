package throttle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"metascript/controller/object"
)

// After any calls, a Tally has the numbers of a simple map.
func TestTallyCounts(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var tally Tally
		last := map[object.Ref]bool{} // whether the last call for a parent failed
		for range 200 {
			parent := object.Ref{Key: object.Key{Name: fmt.Sprint(random.IntN(8))}}
			switch failed := random.IntN(2) == 0; random.IntN(4) {
			case 0:
				tally.Forget(parent)
				delete(last, parent)
			case 1:
				last[parent] = tally.Begin(parent).Failed
			default:
				tally.Note(parent, failed)
				last[parent] = failed
			}
			want := 0
			for _, failed := range last {
				if failed {
					want++
				}
			}
			if parents, failing := tally.Calls(); parents != len(last) || failing != want {
				t.Fatalf("seed %d: it counts %d parents, %d of which fail; there are %d and %d", seed, parents, failing, len(last), want)
			}
		}
	}
}
