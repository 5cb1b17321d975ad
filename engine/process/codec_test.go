package process

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
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
		if number, ok := there.use(identify(engine.GoMap(object))); ok {
			object["x"] = engine.Native(here.objects[number]).(map[string]any)["x"] // equal, as the contract says
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
		if err := d.end(); err != nil || !reflect.DeepEqual(engine.Native(got), any(want)) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		sent, _ := engine.MapOf(got.(map[string]any)["b"])
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
