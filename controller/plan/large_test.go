package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"metascript/controller/object"
)

// bigMap is a ConfigMap with so much in it.
func bigMap(bytes int) *object.Object {
	return object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "big", "namespace": "default"},
		"data": map[string]any{"a": strings.Repeat("x", bytes)},
	})
}

func planFor(t *testing.T, have, want *object.Object, method Method) (op, suppressed *Op, err error) {
	t.Helper()
	return Policy{Memory: Memory{}}.child(have, want, method)
}

// stored is what there is after op, as a cache has it.
func storedBy(op *Op) *object.Object {
	o := object.Copy(op.Object)
	o.SetUID("u")
	o.SetResourceVersion("2")
	return o
}

func TestLargeChildUsesServerSideApply(t *testing.T) {
	for bytes, verb := range map[int]Verb{100 << 10: Create, 200 << 10: Create, 255 << 10: Create, MaxAnnotations: Apply, 900 << 10: Apply} {
		for _, method := range []Method{"", OnDelete, InPlace, RollingInPlace} {
			op, _, err := planFor(t, nil, bigMap(bytes), method)
			if err != nil || op == nil || op.Verb != verb || !op.Creates() {
				t.Errorf("%d bytes, %q: got %v, %v", bytes, method, op, err)
			}
		}
	}
	// The border, to the byte: the key, and what it says.
	for more, want := range map[int]Verb{0: Create, 1: Apply} {
		empty, _ := json.Marshal(bigMap(0).Map())
		op, _, err := planFor(t, nil, bigMap(MaxAnnotations-len(LastApplied)-len(empty)+more), InPlace)
		if err != nil || op.Verb != want {
			t.Errorf("%d above: got %v, %v", more, op, err)
		}
	}
}

func TestLargeChildIsNotWrittenAgain(t *testing.T) {
	want := bigMap(300 << 10)
	op, _, _ := planFor(t, nil, want, InPlace)
	have := storedBy(op)
	policy := Policy{Memory: Memory{}}.of(t, op.Object)
	for _, method := range []Method{OnDelete, InPlace, Recreate} {
		if op, left, err := policy.child(have, want, method); op != nil && op.Why != "" || left != nil || err != nil {
			t.Errorf("%s: got %v, %v, %v", method, op, left, err)
		}
	}
	if what, _, err := policy.Differs(have, want); what != "" || err != nil {
		t.Errorf("it differs: %s, %v", what, err)
	}
	want = bigMap(301 << 10)
	if op, _, err := policy.child(have, want, InPlace); err != nil || op.Verb != Apply || op.Migrate {
		t.Errorf("got %v, %v", op, err)
	}
}

func TestChildGrowsAndShrinks(t *testing.T) {
	small, large := bigMap(10), bigMap(300<<10)
	op, _, _ := planFor(t, nil, small, InPlace)
	have := storedBy(op)
	op, _, err := planFor(t, have, large, InPlace)
	if err != nil || op.Verb != Apply || !op.Migrate {
		t.Fatalf("it grew: %v, %v", op, err)
	}
	have = storedBy(op)
	policy := Policy{Memory: Memory{}}.of(t, op.Object)
	op, _, err = policy.child(have, small, InPlace)
	if err != nil || op.Verb != Apply {
		t.Fatalf("it shrank: %v, %v", op, err)
	}
	have = storedBy(op)
	policy = policy.of(t, op.Object)
	note(t, policy, have, small)
	op, _, err = policy.child(have, small, InPlace)
	if err != nil || op.Verb != Update || op.Object.GetAnnotations()[LastApplied] == "" {
		t.Fatalf("it is small: %v, %v", op, err)
	}
}

// The annotation does not fit beside those of others: the child stays with server-side apply.
func TestSmallChildWithLargeAnnotationsStaysWithServerSideApply(t *testing.T) {
	want := bigMap(200 << 10)
	config := configOf(t, want)
	have := storedBy(&Op{Object: config})
	have.SetAnnotations(map[string]string{"others": strings.Repeat("x", 80<<10)})
	policy := Policy{Memory: Memory{}}.of(t, config)
	note(t, policy, have, want)
	if op, left, err := policy.child(have, want, InPlace); op != nil || left != nil || err != nil {
		t.Errorf("got %v, %v, %v", op, left, err)
	}
}

func TestLargeChildIsNotRecreated(t *testing.T) {
	small, large := bigMap(10), bigMap(300<<10)
	op, _, _ := planFor(t, nil, small, InPlace)
	for _, method := range []Method{Recreate, RollingRecreate} {
		for _, have := range []*object.Object{nil, storedBy(op)} {
			op, left, err := planFor(t, have, large, method)
			if op != nil || left != nil || err == nil {
				t.Fatalf("%s: got %v, %v, %v", method, op, left, err)
			}
			for _, part := range []string{"ConfigMap default/big", "256 KiB", LastApplied, "ServerSideApply", "InPlace"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
		}
	}
}

func TestAtMostIsUpperBound(t *testing.T) {
	for _, v := range []any{
		nil, true, int64(-1 << 62), 1.7976931348623157e308, "a<b>&\"\\\n\x00é日\u2028\xff", map[string]any{}, []any{},
		map[string]any{"a\"<": []any{int64(1), "x", nil, map[string]any{"b": false}}, "é": ""},
	} {
		text, err := json.Marshal(v)
		if bound := atMost(v, 1<<20); err != nil || bound < len(text) {
			t.Errorf("%s: %d bytes, bound %d, %v", text, len(text), bound, err)
		}
	}
	if n := atMost(strings.Repeat("\x00", 1<<20), 10); n <= 10 {
		t.Errorf("got %d", n)
	}
}
