package packed

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestUnequal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	object := func() map[string]any {
		m := map[string]any{}
		for range random.IntN(30) {
			values := []any{nil, true, int64(random.IntN(2)), "Pod", fmt.Sprint("text", random.IntN(2)), []any{int64(random.IntN(2))}, map[string]any{"a": int64(random.IntN(2))}}
			m[fmt.Sprint("k", random.IntN(40))] = values[random.IntN(len(values))]
		}
		return m
	}
	pack := func(m map[string]any) Map {
		packed, err := Pack(m)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	text := func(m map[string]any, key string) string {
		if v, found := m[key]; found {
			return fmt.Sprintf("%v", v)
		}
		return "none"
	}
	for range 2000 {
		a, b := object(), object()
		var want, got []string
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if left, right := text(a, key), text(b, key); left != right {
				want = append(want, key+" "+left+" "+right)
			}
		}
		shown := func(v any) string {
			switch v := v.(type) {
			case none:
				return "none"
			case Map:
				return fmt.Sprint(v.Build())
			case Array:
				return fmt.Sprint(v.Native())
			}
			return fmt.Sprint(v)
		}
		for u := pack(a).Unequal(pack(b)); u.Next(); {
			got = append(got, u.Key+" "+shown(u.A)+" "+shown(u.B))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v and %v: got %q, want %q", a, b, got, want)
		}
	}
}
