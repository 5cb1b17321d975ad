package plan

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine/tree"
)

// Objects out of YAML.
var parse, parseObject = objecttest.Parse, objecttest.ParseObject

func setOf(objects ...*object.Object) *object.Set {
	s := &object.Set{}
	for _, o := range objects {
		s.Put(o)
	}
	return s
}

// unchanged remembers values and gives a function that fails the test if one of them has changed.
func unchanged(t testing.TB, values ...map[string]any) func() {
	t.Helper()
	before := make([]any, len(values))
	for i, v := range values {
		before[i] = object.CopyValue(v)
	}
	return func() {
		t.Helper()
		for i, v := range values {
			if !reflect.DeepEqual(before[i], any(v)) { // which is faster than cmp, and used often
				t.Errorf("argument %d was changed (-before +after):\n%s", i, cmp.Diff(before[i], any(v)))
			}
		}
	}
}

// mapsOf gives the maps behind the objects of sets.
func mapsOf(sets ...*object.Set) []map[string]any {
	var all []map[string]any
	for _, s := range sets {
		for o := range s.All() {
			all = append(all, o.Map())
		}
	}
	return all
}

// texts gives operations as text.
func texts(ops []Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.String())
	}
	return all
}

func checkOps(t testing.TB, ops []Op, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, texts(ops)); diff != "" {
		t.Fatalf("operations (-want +got):\n%s", diff)
	}
}

// plan is Children for a test in which nothing goes wrong.
func plan(t testing.TB, observed, desired *object.Set, rules Rules) []Op {
	t.Helper()
	plan, err := Children(observed, desired, Policy{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Ops
}

// merged returns the result of merge, which is the same for both forms of the observed object.
func merged(t testing.TB, observed, last, desired map[string]any) map[string]any {
	t.Helper()
	result := merge(tree.GoMap(observed), last, desired, observedOrder)
	again := merge(contentOf(objecttest.Packed(t, object.New(observed))), last, desired, observedOrder)
	if !reflect.DeepEqual(result, again) {
		t.Errorf("the result depends on the form of the observed object (-map +packed):\n%s", cmp.Diff(result, again))
	}
	return again
}

// apply merges want into have, and returns the child as it is written.
func apply(have, want *object.Object) (*object.Object, error) {
	m, err := (Policy{}).merging(have, want, InPlace)
	if err != nil {
		return nil, err
	}
	return m.written(observedOrder), nil
}

// note remembers that want was applied by server-side apply with this result.
func note(t testing.TB, policy Policy, have, want *object.Object) {
	t.Helper()
	config, err := policy.configuration(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := policy.NoteWritten(Op{Verb: Apply, Object: config.plain, Content: config.sum}, have); err != nil {
		t.Fatal(err)
	}
}

// created is want as Children would create it.
func created(t testing.TB, want *object.Object) *object.Object {
	t.Helper()
	ops := plan(t, setOf(), setOf(want), nil)
	if len(ops) != 1 || ops[0].Verb != Create {
		t.Fatalf("operations %v, want one creation", texts(ops))
	}
	return ops[0].Object
}

// A server is as much of an API server as plans are about: it stores objects without null fields, gives them a UID
// and counts versions.
type server struct {
	kinds  []object.Kind
	stored map[object.Kind]map[object.Key]*object.Object
	writes int
}

func newServer(kinds ...object.Kind) *server {
	return &server{kinds: kinds, stored: map[object.Kind]map[object.Key]*object.Object{}}
}

// observed is a snapshot of what is stored, as caches hold it.
func (s *server) observed(t testing.TB) *object.Set {
	t.Helper()
	set := &object.Set{}
	for _, kind := range s.kinds {
		set.Declare(kind)
		var group []*object.Object
		for _, o := range s.stored[kind] {
			group = append(group, objecttest.Packed(t, o))
		}
		for _, o := range object.Sorted(group) {
			set.Put(o)
		}
	}
	return set
}

// do carries out op, as strictly as a real server.
func (s *server) do(op Op) error {
	kind, key := op.Object.GroupVersionKind(), object.KeyOf(op.Object)
	group := s.stored[kind]
	if group == nil {
		group = map[object.Key]*object.Object{}
		s.stored[kind] = group
	}
	have := group[key]
	s.writes++
	switch {
	case op.Verb == Create && have != nil:
		return fmt.Errorf("%s: it exists already", op)
	case op.Verb == Create && (op.Object.GetUID() != "" || op.Object.GetResourceVersion() != ""):
		return fmt.Errorf("%s: it has a uid or a resourceVersion", op)
	case op.Verb != Create && have == nil:
		return fmt.Errorf("%s: it does not exist", op)
	case op.Verb != Create && op.Object.GetUID() != have.GetUID():
		return fmt.Errorf("%s: uid %s, want %s", op, op.Object.GetUID(), have.GetUID())
	case op.Verb == Update && op.Object.GetResourceVersion() != have.GetResourceVersion():
		return fmt.Errorf("%s: resourceVersion %s, want %s", op, op.Object.GetResourceVersion(), have.GetResourceVersion())
	case op.Verb == Delete:
		delete(group, key)
		return nil
	}
	o := object.New(WithoutNulls(object.Copy(op.Object).Map()))
	o.SetResourceVersion(fmt.Sprint(s.writes))
	if op.Verb == Create {
		o.Map()["metadata"].(map[string]any)["uid"] = fmt.Sprintf("uid-%d", s.writes)
	}
	group[key] = o
	return nil
}
