package tree_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"metascript/engine/packed"
	"metascript/engine/tree"
)

// random returns a JSON-shaped value of maps and slices.
func random(r *rand.Rand, depth int) any {
	texts := []string{"", "a", "key", "ä", "<&>", "\u2028", "\x00\n\t\"\\", "\x7f", strings.Repeat("long", 100), "\xff"}
	switch n := r.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.Int64() - r.Int64()
	case n == 3:
		return []float64{0, math.Copysign(0, -1), 1.5, 1e-7, 1e21, 123456789.125, 5e-324, math.MaxFloat64, 1e-9, -1e-10}[r.IntN(10)]
	case n < 6 || depth == 0:
		return texts[r.IntN(len(texts))]
	case n == 6:
		list := make([]any, r.IntN(12))
		for i := range list {
			list[i] = random(r, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for range r.IntN(12) {
		m[texts[r.IntN(len(texts)-1)]+string(rune('a'+r.IntN(26)))] = random(r, depth-1)
	}
	return m
}

// Every form of a value has the same JSON text, which is that of the encoder of Go.
func TestAppendJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := map[string]any{"v": random(r, 4)}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		p, err := packed.Pack(v)
		if err != nil {
			t.Fatal(err)
		}
		for form, value := range map[string]any{"map": v, "Map": tree.GoMap(v), "packed": p, "mixed": map[string]any{"v": mustGet(p, "v")}} {
			if got, err := tree.AppendJSON(nil, value); err != nil || string(got) != string(want) {
				t.Fatalf("%s: got %s, %v\nwant %s", form, got, err, want)
			}
		}
		if got, err := json.Marshal(p); err != nil || string(got) != string(want) {
			t.Fatalf("json.Marshal: got %s, %v\nwant %s", got, err, want)
		}
		if got := tree.Native(map[string]any{"v": mustGet(p, "v"), "l": tree.GoSlice{p}}); !reflect.DeepEqual(got, map[string]any{"v": v["v"], "l": []any{any(v)}}) {
			t.Fatalf("native: got %v, want %v", got, v)
		}
	}
}

func mustGet(m packed.Map, key string) any {
	v, _ := m.Get(key)
	return v
}

func TestAppendJSONRefuses(t *testing.T) {
	for _, v := range []any{math.NaN(), math.Inf(1), 1, []string{}, map[string]any{"a": []any{struct{}{}}}} {
		if text, err := tree.AppendJSON(nil, v); err == nil {
			t.Errorf("%v: got %s", v, text)
		}
	}
}

func TestNativeSharesPlainValues(t *testing.T) {
	v := map[string]any{"a": []any{map[string]any{}}}
	if got := tree.Native(v).(map[string]any); reflect.ValueOf(got).UnsafePointer() != reflect.ValueOf(v).UnsafePointer() {
		t.Error("a map without Maps is copied")
	}
}
