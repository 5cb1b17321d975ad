package process

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/runtimes"
)

// recordedRequest is packedRequest with recorded objects, and returns the recordings by name.
func recordedRequest(arg map[string]any) (map[string]any, map[string]*packed.Recording) {
	var recorder packed.Recorder
	recordings := map[string]*packed.Recording{}
	pods := map[string]any{}
	for name, pod := range arg["children"].(map[string]any)["Pod.v1"].(map[string]any) {
		recordings[name] = recorder.Record(pod.(packed.Map))
		pods[name] = recordings[name].Map()
	}
	recorded := maps.Clone(arg)
	recorded["children"] = map[string]any{"Pod.v1": pods}
	return recorded, recordings
}

// What a script reads in a worker is recorded as in this process: of few objects and of a group, which are sent and known.
func TestReadsOfWorkers(t *testing.T) {
	for language, text := range statusScripts {
		_, e := newPool(t, Options{})
		inWorker, here := compile(t, e, language, text), compile(t, engine.New(engine.Options{Runtimes: runtimes.All()}), language, text)
		for _, n := range []int{2, 50} {
			arg := packedRequest(n)
			for range 2 {
				request, got := recordedRequest(arg)
				if _, err := inWorker.Call(t.Context(), "sync", request, engine.Env{Identify: identify}); err != nil {
					t.Fatal(err)
				}
				request, want := recordedRequest(arg)
				if _, err := here.Call(t.Context(), "sync", request, engine.Env{}); err != nil {
					t.Fatal(err)
				}
				for name := range want {
					if got, want := got[name].Reads(), want[name].Reads(); !reflect.DeepEqual(got, want) {
						t.Fatalf("%s, %d objects: %s has the reads %v, want %v", language, n, name, got, want)
					}
				}
			}
		}
	}
}

// An object counts as read if its reads are not known: if it is not identified, or is there twice, or the call fails.
func TestReadsThatAreNotKnown(t *testing.T) {
	_, e := newPool(t, Options{})
	object := versioned("a", "1")
	long := "def sync(x): return {'r': [x.get('" + strings.Repeat("k", 2000) + "')]}"
	for name, c := range map[string]struct {
		script   string
		identify func(engine.Map) (id, version string)
		request  func(packed.RecordedMap) map[string]any
	}{
		"not identified": {"def sync(x): return {}", nil, func(m packed.RecordedMap) map[string]any { return map[string]any{"x": m} }},
		"a part":         {"def sync(x): return {}", identify, func(m packed.RecordedMap) map[string]any { return map[string]any{"x": []any{[]any{[]any{m}}}} }},
		"it fails":       {"def sync(x): fail('x')", identify, func(m packed.RecordedMap) map[string]any { return map[string]any{"x": m} }},
		"a long key":     {long, identify, func(m packed.RecordedMap) map[string]any { return map[string]any{"x": m} }},
	} {
		recording := (&packed.Recorder{}).Record(object)
		_, _ = compile(t, e, engine.Starlark, c.script).Call(t.Context(), "sync", c.request(recording.Map()), engine.Env{Identify: c.identify})
		if got := recording.Reads(); !reflect.DeepEqual(got, packed.Everything) {
			t.Errorf("%s: the reads are %v, want %v", name, got, packed.Everything)
		}
	}
	var recorder packed.Recorder
	once, twice := recorder.Record(object), recorder.Record(object)
	arg := map[string]any{"x": once.Map(), "y": map[string]any{"z": twice.Map()}}
	if _, err := compile(t, e, engine.Starlark, "def sync(x, y): return {}").Call(t.Context(), "sync", arg, engine.Env{Identify: identify}); err != nil {
		t.Fatal(err)
	}
	if reads := fmt.Sprint(once.Reads(), twice.Reads()); !strings.Contains(reads, fmt.Sprint(packed.Everything)) {
		t.Errorf("an object that is there twice has the reads %s", reads)
	}
}

// Reads are of the bytes that the worker has: the same version with other bytes is sent again.
func TestReadsOfOtherBytes(t *testing.T) {
	there, here := newSent(), newKept()
	for _, number := range []any{int64(1), 1.0} {
		object, err := packed.Pack(map[string]any{"uid": "a", "version": "1", "n": number})
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, there, here, map[string]any{"x": object})
		for _, stored := range here.objects {
			if len(here.objects) != 1 || !stored.(packed.Map).Equal(object) {
				t.Errorf("the worker has %v, want %v", here.objects, object)
			}
		}
	}
}

// A message with invalid reads is an invalid message. Reads of unknown objects do not matter.
func TestInvalidReads(t *testing.T) {
	object := versioned("a", "1")
	recordings := map[uint64]*packed.Recording{1: (&packed.Recorder{}).Record(object)}
	for text, valid := range map[string]bool{
		"\x01\x01\x02\x01\x02": true,  // the whole object
		"\x01\x05\x02\x01\x02": true,  // another object
		"\x01\x01\x02\x01\xff": false, // a varint that does not end
		"\x01\x01\x02\x02\x02": false, // too few marks
		"\x01\x01\x01":         false,
		"\x02\x01\x00":         false,
	} {
		d := newDecoder(text)
		d.reads(recordings)
		if err := d.end(); (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
	}
}
