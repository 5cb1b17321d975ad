package tree_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"metascript/engine/enginetest"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// Every form of a value has the same JSON text, which is that of the encoder of Go.
func TestAppendJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := map[string]any{"v": []any{enginetest.Random(r, 4), "\xff"}}
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

// A Sorted is read like a GoMap, and its copies with other entries do not change it.
func TestSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s, want := &tree.Sorted{}, map[string]any{}
	for range 500 {
		before := maps.Clone(want)
		set, remove := map[string]any{}, []string(nil)
		for range r.IntN(4) {
			key := string(rune('a' + r.IntN(12)))
			set[key] = int64(r.IntN(9))
			want[key] = set[key]
		}
		if key := string(rune('a' + r.IntN(12))); r.IntN(3) == 0 && set[key] == nil {
			remove = append(remove, key)
			delete(want, key)
		}
		next := s.With(set, remove)
		if got := maps.Collect(s.All()); !reflect.DeepEqual(got, before) {
			t.Fatalf("With has changed %v to %v", before, got)
		}
		s = next
		checkSorted(t, s, want)
	}
}

func checkSorted(t *testing.T, s *tree.Sorted, want map[string]any) {
	t.Helper()
	if got := maps.Collect(s.All()); !reflect.DeepEqual(got, want) || s.Len() != len(want) {
		t.Fatalf("%v has %d entries, want %v", got, s.Len(), want)
	}
	keys := slices.Sorted(maps.Keys(want))
	if !slices.Equal(s.Keys(), keys) {
		t.Fatalf("the keys are %v, want %v", s.Keys(), keys)
	}
	for i, key := range keys {
		value, found := s.Get(key)
		if k, v := s.Entry(i); k != key || v != want[key] || !found || value != v {
			t.Fatalf("%d is %s: %v, got %v, want %s: %v", i, k, v, value, key, want[key])
		}
	}
	if _, found := s.Get("z"); found {
		t.Fatal("there is a key z")
	}
}
