package process

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// pack returns v with some of its maps packed.
func pack(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		switch r.IntN(4) {
		case 0:
			return enginetest.Pack(v)
		case 1:
			return struct{ engine.Map }{engine.GoMap(v)}
		}
		m := map[string]any{}
		for key, item := range v {
			m[key] = pack(r, item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = pack(r, v[i])
		}
		if r.IntN(3) == 0 {
			return engine.GoSlice(list)
		}
		return list
	}
	return v
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	there, here := newSent(), newKept()
	for range 2000 {
		object := map[string]any{"uid": string(rune('a' + r.IntN(4))), "version": string(rune('0' + r.IntN(3))), "x": enginetest.Random(r, 4)}
		if o := there.use(identify(engine.GoMap(object))); o != nil {
			object["x"] = tree.Native(here.objects[o.number]).(map[string]any)["x"] // equal, as the contract says
		}
		want := map[string]any{"a": enginetest.Random(r, 6), "b": object}
		arg := map[string]any{"a": pack(r, want["a"]), "b": any(object)}
		if r.IntN(2) == 0 {
			arg["b"] = enginetest.Pack(object)
		}
		e := &encoder{sent: there, identify: identify}
		if err := e.value(arg, 1); err != nil {
			t.Fatal(err)
		}
		d := newDecoder(string(e.buf))
		d.kept = here
		got := d.value()
		if err := d.end(); err != nil || !reflect.DeepEqual(tree.Native(got), any(want)) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		sent, _ := tree.MapOf(got.(map[string]any)["b"])
		if id, version := here.identify(sent); id != object["uid"] || version != object["version"] {
			t.Fatalf("the identity is %s %s, want that of %v", id, version, object)
		}
		here.forget(there.shrink())
		if len(here.objects) != len(there.objects) || len(here.plain)+len(here.packed) != len(here.objects) {
			t.Fatalf("%d objects here, %d there, %d and %d identities", len(here.objects), len(there.objects), len(here.plain), len(here.packed))
		}
	}
}

// A packed object is sent and stored as its bytes, and costs as much.
func TestPackedObjects(t *testing.T) {
	object := enginetest.Pack(map[string]any{"uid": "a", "version": "1", "text": strings.Repeat("x", 10_000)})
	size := int64(len(object.Bytes()))
	e := &encoder{sent: newSent(), identify: identify}
	if err := e.value(map[string]any{"a": object, "b": map[string]any{"c": object}}, 1); err != nil {
		t.Fatal(err)
	}
	if n := int64(len(e.buf)); n > size+200 || e.cost > size+1000 || e.sent.cost > size+1000 || e.sent.cost < size {
		t.Errorf("an object of %d bytes is sent as %d and costs %d, of which %d are stored", size, n, e.cost, e.sent.cost)
	}
	d := newDecoder(string(e.buf))
	d.kept = newKept()
	got, _ := d.value().(map[string]any)
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	a, _ := got["a"].(packed.Map)
	if !a.Equal(object) || got["b"].(map[string]any)["c"] != a {
		t.Errorf("got %v", got)
	}
	if id, version := d.kept.identify(a); id != "a" || version != "1" {
		t.Errorf("its identity is %q, %q", id, version)
	}
	d.kept.forget([]uint64{1})
	if id, _ := d.kept.identify(a); id != "" {
		t.Error("it has its identity after it was removed")
	}
}

// An answer may have no packed objects: the process that reads it does not trust the one that wrote it.
func TestPackedObjectsAreForRequests(t *testing.T) {
	e := &encoder{}
	if err := e.value(map[string]any{"a": packed.Empty}, 1); err != nil {
		t.Fatal(err)
	}
	d := newDecoder(string(e.buf))
	if got := d.value(); d.end() == nil {
		t.Errorf("got %v", got)
	}
	d = newDecoder(string(append(e.buf[:len(e.buf)-1], 1)))
	d.kept = newKept()
	if got := d.value(); d.end() == nil {
		t.Errorf("got %v of an invalid object", got)
	}
}

// Objects beyond what is kept are sent, used and forgotten.
func TestTooManyObjects(t *testing.T) {
	there := newSent()
	object := func(id string) map[string]any {
		return map[string]any{"uid": id, "text": strings.Repeat("x", maxKept/3)}
	}
	arg := map[string]any{"a": object("a"), "b": object("b"), "c": object("c"), "d": object("d")}
	e := &encoder{sent: there, identify: identify}
	if err := e.value(arg, 1); err != nil {
		t.Fatal(err)
	}
	d := newDecoder(string(e.buf))
	d.kept = newKept()
	if got := d.value(); d.end() != nil || !reflect.DeepEqual(got, any(arg)) {
		t.Error("not what was sent")
	}
	d.kept.forget(there.shrink())
	if len(d.kept.objects) != 2 || there.cost > maxKept {
		t.Errorf("%d objects of %d bytes are kept", len(d.kept.objects), there.cost)
	}
}

func TestUnsendable(t *testing.T) {
	deep := any(nil)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for _, v := range []any{1, int32(1), struct{}{}, []string{}, map[string]string{}, deep} {
		if err := (&encoder{}).value(map[string]any{"a": v}, 1); err == nil {
			t.Errorf("a %T was sent", v)
		}
	}
}

// A small message cannot make a decoder allocate much, nor recurse deeply.
func TestDecoderIsLimited(t *testing.T) {
	claim := append([]byte{tagList}, 0xff, 0xff, 0xff, 0xff, 0x0f)
	nested := bytes.Repeat([]byte{tagList, 1}, maxDepth+1)
	wide := bytes.Repeat([]byte{tagList, 0xe8, 0x07}, 1000) // each claims 1000 elements
	for name, message := range map[string][]byte{"claim": claim, "nested": nested, "wide": wide, "empty": nil, "cut": {tagFloat, 1, 2}} {
		d := newDecoder(string(message))
		if allocated := testing.AllocsPerRun(1, func() { *d = *newDecoder(string(message)); d.value() }); allocated > 3*maxDepth {
			t.Errorf("%s: %v allocations", name, allocated)
		}
		if d.end() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		e := &encoder{sent: newSent(), identify: identify}
		if err := e.value(map[string]any{"b": map[string]any{"uid": "u"}, "x": pack(r, enginetest.Random(r, 3))}, 1); err != nil {
			f.Fatal(err)
		}
		f.Add(string(e.buf))
	}
	f.Fuzz(func(t *testing.T, message string) {
		for _, read := range []func(*decoder){
			func(d *decoder) { d.compilation() }, func(d *decoder) { d.call() }, func(d *decoder) { d.message() },
			func(d *decoder) { d.fault() }, func(d *decoder) { d.texts() },
		} {
			read(newDecoder(message))
		}
		d := newDecoder(message)
		d.kept = newKept()
		v := d.value()
		if d.end() != nil {
			return
		}
		e := &encoder{}
		if err := e.value(v, 1); err != nil {
			t.Fatalf("%v was read but cannot be written: %v", v, err)
		}
		again := newDecoder(string(e.buf))
		again.kept = newKept()
		if got := again.value(); again.end() != nil || (&encoder{}).value(got, 1) != nil {
			t.Errorf("%v is read as %v", v, got)
		}
	})
}

// groupRequest is a request with these objects as children, and with one of another kind.
func groupRequest(objects map[string]packed.Map) map[string]any {
	group := map[string]any{}
	for key, o := range objects {
		group[key] = o
	}
	return map[string]any{"children": map[string]any{"a": group, "few": map[string]any{"x": packed.Empty}}}
}

func versioned(id, version string) packed.Map {
	return enginetest.Pack(map[string]any{"uid": id, "version": version, "text": strings.Repeat("x", 100)})
}

// exchange sends a request, and returns it as it is read, with the length of the message.
func exchange(t *testing.T, there *sentObjects, here *keptObjects, arg map[string]any) (got any, length int) {
	t.Helper()
	e := &encoder{sent: there, identify: identify}
	if err := e.value(arg, 1); err != nil {
		t.Fatal(err)
	}
	d := newDecoder(string(e.buf))
	d.kept = here
	got = d.value()
	if err := d.end(); err != nil || !reflect.DeepEqual(tree.Native(got), tree.Native(arg)) {
		t.Fatalf("%v: got %v, want %v", err, got, arg)
	}
	here.forget(there.shrink())
	return got, len(e.buf)
}

// Of a large map of objects only what has changed is sent. What was read before stays as it was.
func TestGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	there, here := newSent(), newKept()
	objects := map[string]packed.Map{}
	var before any
	for i := range 300 {
		want := tree.Native(before)
		for range r.IntN(4) {
			id := fmt.Sprint("o", r.IntN(60))
			if objects[id] = versioned(id, fmt.Sprint(i)); r.IntN(3) == 0 {
				delete(objects, id)
			}
		}
		got, length := exchange(t, there, here, groupRequest(objects))
		if len(objects) >= minGroup && length > 1200 {
			t.Errorf("request %d of %d objects has %d bytes", i, len(objects), length)
		}
		if !reflect.DeepEqual(tree.Native(before), want) {
			t.Fatal("a request has changed after it was read")
		}
		before = got
		if len(here.objects) != len(there.objects) || len(here.groups) != len(there.groups) {
			t.Fatalf("%d objects and %d groups here, %d and %d there", len(here.objects), len(here.groups), len(there.objects), len(there.groups))
		}
	}
	if len(there.groups) == 0 {
		t.Error("there is no group")
	}
}

// Several parents have a group each, which an object may leave for another.
func TestGroupsOfSeveralParents(t *testing.T) {
	there, here := newSent(), newKept()
	sets := make([]map[string]packed.Map, 3)
	for i := range sets {
		sets[i] = map[string]packed.Map{}
		for n := range 20 {
			id := fmt.Sprint(i, " ", n)
			sets[i][id] = versioned(id, "1")
		}
	}
	for round := range 4 {
		for _, objects := range sets {
			if _, length := exchange(t, there, here, groupRequest(objects)); round > 0 && length > 100 {
				t.Errorf("round %d: the same objects are sent in %d bytes", round, length)
			}
		}
	}
	if len(there.groups) != 3 || len(here.groups) != 3 {
		t.Errorf("%d and %d groups, want 3", len(there.groups), len(here.groups))
	}
	all := map[string]packed.Map{}
	for _, objects := range sets {
		maps.Copy(all, objects)
	}
	exchange(t, there, here, groupRequest(all))
	exchange(t, there, here, groupRequest(sets[1]))
}

// The memory of objects counts as long as a group has them. When there are too many, the groups are removed first.
func TestGroupsAreRemoved(t *testing.T) {
	there, here := newSent(), newKept()
	objects := map[string]packed.Map{}
	for n := range minGroup {
		id := fmt.Sprint(n)
		objects[id] = versioned(id, "1")
	}
	exchange(t, there, here, groupRequest(objects))
	cost := there.cost
	objects["0"] = versioned("0", "2")
	exchange(t, there, here, map[string]any{"parent": objects["0"]})
	if there.cost <= cost || len(there.objects) != minGroup {
		t.Errorf("%d objects cost %d, with one that has changed %d", len(there.objects), cost, there.cost)
	}
	exchange(t, there, here, groupRequest(objects))
	if there.cost != cost {
		t.Errorf("the objects cost %d, and then %d", cost, there.cost)
	}
	there.add(&sentObject{id: "large", cost: maxKept})
	here.forget(there.shrink())
	if len(here.groups)+len(here.objects)+len(there.groups)+len(there.objects) != 0 || there.cost != 0 {
		t.Errorf("there are %d groups and %d objects, which cost %d", len(here.groups), len(here.objects), there.cost)
	}
	exchange(t, there, here, groupRequest(objects))
}

// The parent does not keep objects in memory that it has sent.
func TestSentObjectsAreReleased(t *testing.T) {
	there, here := newSent(), newKept()
	released := make(chan string, minGroup)
	func() {
		objects := map[string]packed.Map{}
		for n := range minGroup {
			id := fmt.Sprint(n)
			objects[id] = versioned(id, "1")
			runtime.AddCleanup(&objects[id].Bytes()[0], func(id string) { released <- id }, id)
		}
		exchange(t, there, here, groupRequest(objects))
	}()
	runtime.GC()
	for range minGroup {
		<-released
	}
	runtime.KeepAlive(there)
}

// Answers have no groups.
func TestGroupsAreForRequests(t *testing.T) {
	d := newDecoder(string([]byte{tagGroup, 1, 0, 0}))
	if got := d.value(); d.end() == nil {
		t.Errorf("got %v", got)
	}
}
