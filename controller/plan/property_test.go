package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

// A generator makes random values. Names and keys are few, so that values often meet.
type generator struct{ *rand.Rand }

var (
	fields  = []string{"a", "b", "c", "name", "port"}
	scalars = []any{nil, true, false, "", "x", "80", "<&>", int64(0), int64(1), int64(80), int64(1<<62 + 1), 1.5, 1.0, -2.25}
)

func pick[T any](g generator, from []T) T { return from[g.IntN(len(from))] }

func (g generator) value(depth int) any {
	switch n := g.IntN(10); {
	case depth <= 0 || n < 4:
		return pick(g, scalars)
	case n < 7:
		return g.mapping(depth - 1)
	case n < 9:
		return g.items(depth - 1)
	}
	list := make([]any, g.IntN(3))
	for i := range list {
		list[i] = g.value(depth - 1)
	}
	return list
}

func (g generator) mapping(depth int) map[string]any {
	m := map[string]any{}
	for range g.IntN(4) {
		m[pick(g, fields)] = g.value(depth)
	}
	return m
}

// items is a list of objects that a field may identify, or not when it repeats.
func (g generator) items(depth int) []any {
	list, key := make([]any, g.IntN(4)), pick(g, mergeKeys)
	for i := range list {
		item := g.mapping(depth)
		if g.IntN(8) > 0 {
			item[key] = pick(g, []any{int64(1), int64(2), int64(3), "p", "q", "r"})
		}
		list[i] = item
	}
	return list
}

// edit changes some of m, as an author changes a template and others change an object.
func (g generator) edit(m map[string]any, depth int) {
	for range 1 + g.IntN(2) {
		key := pick(g, fields)
		below, isMap := m[key].(map[string]any)
		list, isList := m[key].([]any)
		switch {
		case g.IntN(4) == 0:
			delete(m, key)
		case isMap && depth > 0 && g.IntN(3) > 0:
			g.edit(below, depth-1)
		case isList && g.IntN(3) > 0:
			m[key] = g.editList(list, depth)
		default:
			m[key] = g.value(depth)
		}
	}
}

func (g generator) editList(list []any, depth int) []any {
	if len(list) > 0 && g.IntN(2) == 0 {
		at := g.IntN(len(list))
		if item, ok := list[at].(map[string]any); ok && g.IntN(2) == 0 {
			g.edit(item, depth-1)
			return list
		}
		if g.IntN(2) == 0 {
			list[at] = pick(g, scalars)
			return list
		}
		return append(list[:at:at], list[at+1:]...)
	}
	return append(list, g.mapping(depth-1))
}

func (g generator) child(kind object.Kind, name string) *object.Object {
	o := object.New(map[string]any{"metadata": map[string]any{}, "spec": g.mapping(3)})
	o.SetGroupVersionKind(kind)
	o.SetNamespace("default")
	o.SetName(name)
	if g.IntN(2) == 0 {
		o.SetLabels(map[string]string{pick(g, fields): pick(g, fields)})
	}
	if g.IntN(3) == 0 {
		o.SetAnnotations(map[string]string{pick(g, fields): "<" + pick(g, fields) + ">"})
	}
	if g.IntN(3) == 0 {
		o.Map()["status"] = g.mapping(1)
	}
	return o
}

// contains names where have lacks something of want; "" when it lacks nothing. Null fields count as none, and an item
// of a list may stand anywhere in it, since identified items keep their observed places.
func contains(path string, have, want any) string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := have.(map[string]any)
		if !ok {
			return path
		}
		for key, field := range want {
			if _, there := m[key]; !there && hollow(field) {
				continue // the API server may not store it, and as long as it is empty nobody sees a difference
			}
			if field == nil || path == ".metadata.annotations" && key == LastApplied {
				continue
			}
			if lack := contains(path+"."+key, m[key], field); lack != "" {
				return lack
			}
		}
		return ""
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) < len(want) {
			return path
		}
		for i, item := range want {
			found := false
			for _, candidate := range list {
				found = found || contains("", candidate, item) == ""
			}
			if !found {
				return fmt.Sprintf("%s[%d]", path, i)
			}
		}
		return ""
	}
	left, _ := json.Marshal(have)
	right, _ := json.Marshal(want)
	if string(left) != string(right) {
		return path
	}
	return ""
}

// leftover names a field that last has, want has not, and have still has; "" when there is none.
func leftover(path string, have, last, want map[string]any) string {
	for key, value := range last {
		if want[key] == nil && value != nil {
			if _, found := have[key]; found {
				return path + "." + key
			}
			continue
		}
		h, _ := have[key].(map[string]any)
		l, _ := value.(map[string]any)
		w, isMap := want[key].(map[string]any)
		if !isMap || l == nil || h == nil {
			continue
		}
		if left := leftover(path+"."+key, h, l, w); left != "" {
			return left
		}
	}
	return ""
}

// lost names a field that have had, which neither last nor want has, and that is gone after; "" when there is none.
func lost(path string, have, last, want, after map[string]any) string {
	for key, value := range have {
		_, wasSet := last[key]
		field, isSet := want[key]
		if wasSet && last[key] == nil || isSet && field == nil {
			continue // nulls are as good as none, and make no claim
		}
		if !wasSet && !isSet {
			if !reflect.DeepEqual(value, after[key]) {
				return path + "." + key
			}
			continue
		}
		h, isMap := value.(map[string]any)
		w, _ := field.(map[string]any)
		l, _ := last[key].(map[string]any)
		a, _ := after[key].(map[string]any)
		if !isMap || w == nil {
			continue
		}
		if gone := lost(path+"."+key, h, l, w, a); gone != "" {
			return gone
		}
	}
	return ""
}

// A world is a server, what one controller wants of it, and others who meddle.
type world struct {
	generator
	*server
	rules   Rules
	desired map[object.Kind]map[string]*object.Object
}

func (w *world) want() *object.Set {
	set := &object.Set{}
	for _, kind := range w.kinds {
		for _, name := range fields {
			if o := w.desired[kind][name]; o != nil {
				set.Put(o)
			}
		}
	}
	return set
}

// change lets the author of the hook change her mind.
func (w *world) change() {
	kind, name := pick(w.generator, w.kinds), pick(w.generator, fields)
	switch o := w.desired[kind][name]; {
	case o == nil || w.IntN(4) == 0:
		w.desired[kind][name] = w.child(kind, name)
	case w.IntN(4) == 0:
		delete(w.desired[kind], name)
	default:
		o = object.Copy(o)
		w.edit(o.Map()["spec"].(map[string]any), 3)
		w.desired[kind][name] = o
	}
}

// meddle lets others change what is stored, as schedulers, defaults and people do.
func (w *world) meddle() {
	for _, group := range w.stored {
		for _, o := range group {
			if w.IntN(3) > 0 {
				continue
			}
			if spec, ok := o.Map()["spec"].(map[string]any); ok {
				w.edit(spec, 2)
			}
			o.Map()["status"] = map[string]any{"seen": int64(w.IntN(100))}
			*o = *object.New(WithoutNulls(o.Map()))
			w.writes++
			o.SetResourceVersion(fmt.Sprint(w.writes))
		}
	}
}

// sync plans and applies once, and reports how much there was to do.
func (w *world) sync(t *testing.T) int {
	t.Helper()
	observed, desired := w.observed(t), w.want()
	check := unchanged(t, mapsOf(observed, desired)...)
	ops := plan(t, observed, desired, w.rules)
	check()
	for _, op := range ops {
		if err := w.do(op); err != nil {
			t.Fatal(err)
		}
		if op.Verb == Update {
			w.checkUpdate(t, op, observed, desired)
		}
	}
	return len(ops)
}

func (w *world) checkUpdate(t *testing.T, op Op, observed, desired *object.Set) {
	t.Helper()
	kind, key := op.Object.GroupVersionKind(), object.KeyOf(op.Object)
	have, want, after := observed.Get(kind, key), desired.Get(kind, key).Map(), theirs(w.stored[kind][key].Map())
	last, err := recall(have)
	if err != nil {
		t.Fatal(err)
	}
	nulls := object.CopyValue(want).(map[string]any) // remove what anybody has set
	want = WithoutNulls(want)
	delete(want, "status")
	if diff := cmp.Diff(have.Map()["status"], after["status"]); diff != "" {
		t.Fatalf("%s: status (-observed +stored):\n%s", op, diff)
	}
	delete(last, "status")
	if left := leftover("", after, last, want); left != "" {
		t.Fatalf("%s: %s was applied, is no longer desired, and is still there:\nlast %v\nwant %v\nstored %v", op, left, last, want, after)
	}
	if gone := lost("", theirs(have.Map()), last, nulls, after); gone != "" {
		t.Fatalf("%s: %s is somebody else's, and has changed:\nobserved %v\nlast %v\nwant %v\nstored %v", op, gone, have, last, want, after)
	}
}

// theirs is m without what every write changes.
func theirs(m map[string]any) map[string]any {
	o := object.New(object.CopyValue(m).(map[string]any))
	delete(metadata(o), "resourceVersion")
	if annotations, ok := metadata(o)["annotations"].(map[string]any); ok {
		if delete(annotations, LastApplied); len(annotations) == 0 {
			delete(metadata(o), "annotations")
		}
	}
	return o.Map()
}

// settled checks that what is desired is there.
func (w *world) settled(t *testing.T) {
	t.Helper()
	observed := w.observed(t)
	for want := range w.want().All() {
		kind, key := want.GroupVersionKind(), object.KeyOf(want)
		have := observed.Get(kind, key)
		if have == nil {
			t.Fatalf("%s is missing", object.Describe(want))
		}
		wanted := object.Copy(want).Map()
		delete(wanted, "status")
		if method := w.rules[kind]; method == OnDelete || method == "" {
			continue
		}
		if lack := contains("", have.Map(), wanted); lack != "" {
			t.Fatalf("%s lacks %s:\nstored %v\nwant   %v", object.Describe(want), lack, have.Map(), wanted)
		}
	}
	if have, want := observed.Len(), w.want().Len(); have != want {
		t.Fatalf("%d children exist, want %d", have, want)
	}
}

// However a controller's wishes and others' meddling follow each other: one sync, or two where children are
// recreated, brings what is desired, takes away what no longer is, leaves what is others', and the next finds nothing
// to do.
func TestAppliedPlanLeavesNothingToDo(t *testing.T) {
	const worlds, rounds = 25, 12
	kind := func(name string) object.Kind { return object.Kind{Group: "example.com", Version: "v1", Kind: name} }
	rules := Rules{kind("R"): Recreate, kind("I"): InPlace, kind("RR"): RollingRecreate, kind("RI"): RollingInPlace, kind("D"): OnDelete}
	for seed := range uint64(worlds) {
		w := &world{generator{rand.New(rand.NewPCG(seed, 1))}, newServer(kind("R"), kind("I"), kind("RR"), kind("RI"), kind("D"), kind("none")), rules, map[object.Kind]map[string]*object.Object{}}
		for _, kind := range w.kinds {
			w.desired[kind] = map[string]*object.Object{}
		}
		for range rounds {
			for range 4 {
				w.change()
			}
			w.meddle()
			first := w.sync(t)
			second := w.sync(t)
			if third := w.sync(t); third != 0 {
				t.Fatalf("seed %d: writes of three syncs in a row: %d, %d, %d; want none in the third", seed, first, second, third)
			}
			w.settled(t)
		}
	}
}

func TestMergeOfRandomValues(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(7, 7))}
	for range 10_000 {
		observed, desired := WithoutNulls(g.mapping(4)), WithoutNulls(g.mapping(4))
		last := object.CopyValue(desired).(map[string]any)
		g.edit(last, 3)
		check := unchanged(t, observed, last, desired)
		once := merged(t, observed, last, desired)
		twice := merged(t, once, desired, desired)
		check()
		if d := Difference(once, twice); d != "" {
			t.Fatalf("merged once and twice differ at %s:\nobserved %v\nlast %v\ndesired %v\nonce %v\ntwice %v", d, observed, last, desired, once, twice)
		}
		if !reflect.DeepEqual(once, twice) {
			t.Fatalf("Difference sees none, but (-once +twice):\n%s", cmp.Diff(once, twice))
		}
	}
}
