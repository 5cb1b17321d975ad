package process

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"metascript/engine"
	"metascript/runtimes"
)

func TestOutlinesRoundTrip(t *testing.T) {
	shared := &engine.Outline{Pos: engine.Pos{File: "a.star", Line: 3, Col: 4}, Text: "Pod"}
	of := []*engine.Outline{
		{
			Pos:    engine.Pos{File: "sync.star", Line: 1, Col: 2},
			Fields: map[string]*engine.Outline{"children": {Key: engine.Pos{File: "sync.star", Line: 2, Col: 1}, Items: []*engine.Outline{shared, nil}, Each: shared}},
			Either: []*engine.Outline{shared},
		},
		nil, shared,
	}
	e := &encoder{}
	e.outlines(of)
	d := newDecoder(string(e.buf))
	got := d.outlines(len(of))
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(of, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("outlines (-want +got):\n%s", diff)
	}
	if got[0].Fields["children"].Each != got[2] {
		t.Error("a shared part was copied")
	}
}

func TestLargeOutlinesAreNotSent(t *testing.T) {
	var all *engine.Outline
	for range maxOutlines {
		all = all.Or(&engine.Outline{Pos: engine.Pos{File: "a", Line: 1}})
	}
	e := &encoder{}
	e.outlines([]*engine.Outline{all})
	if len(e.buf) > 10 {
		t.Errorf("%d bytes were sent", len(e.buf))
	}
	d := newDecoder(string(e.buf))
	if got := d.outlines(1); got[0] != nil || d.end() != nil {
		t.Errorf("got %v, %v", got, d.err)
	}
}

func TestMalformedOutlines(t *testing.T) {
	for _, write := range []func(e *encoder){
		func(e *encoder) { e.uint(maxOutlines + 1) },
		func(e *encoder) { e.uint(0); e.uint(1) },  // a root that does not exist
		func(e *encoder) { e.uint(9); e.text("") }, // not complete
	} {
		e := &encoder{}
		write(e)
		d := newDecoder(string(e.buf))
		d.outlines(1)
		if d.end() == nil {
			t.Errorf("%q is no error", e.buf)
		}
	}
}

func TestLookupsRoundTrip(t *testing.T) {
	many := make([]engine.Lookup, engine.MaxLookups)
	for i := range many {
		many[i] = engine.Lookup{Field: "children", Key: "Pod.v1", Pos: engine.Pos{File: "a.star", Line: i + 1, Col: 4}, Before: `children["`, After: `"]`}
	}
	all := [][]engine.Lookup{nil, many[:2], nil}
	for range maxLookups / engine.MaxLookups {
		all = append(all, many)
	}
	e := &encoder{}
	e.lookups(all)
	d := newDecoder(string(e.buf))
	got := d.lookups(len(all))
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	all[len(all)-1] = nil // there are more than are sent
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("lookups (-want +got):\n%s", diff)
	}
}

func TestMalformedLookups(t *testing.T) {
	for _, write := range []func(e *encoder){
		func(e *encoder) { e.uint(engine.MaxLookups + 1) },
		func(e *encoder) { e.uint(1); e.texts([]string{"children"}) },
		func(e *encoder) { e.uint(1) }, // not complete
		func(e *encoder) { // too many for one function
			e.uint(engine.MaxLookups + 1)
			for range engine.MaxLookups + 1 {
				e.texts(make([]string, 4))
				e.pos(engine.Pos{})
			}
		},
	} {
		e := &encoder{}
		write(e)
		d := newDecoder(string(e.buf))
		if d.lookups(1); d.err == nil {
			t.Errorf("no error for %q", e.buf)
		}
	}
}

// TestLookupsOfWorkers checks that a program in a worker process reports the same lookups as one in this process.
func TestLookupsOfWorkers(t *testing.T) {
	_, workers := newPool(t, Options{})
	here := engine.New(engine.Options{Runtimes: runtimes.All()})
	for _, c := range []struct{ language, text string }{
		{engine.Starlark, "def finalize(children): return children.get('a', {})\ndef sync(request): return request.children['b']"},
		{engine.JavaScript, "exports.sync = ({children}) => children?.['a'];\nexports.finalize = ({related: {b}}) => 'c' in b;"},
		{engine.JavaScript, "module.exports = (context) => context.request.body.children.a;"},
		{engine.Jsonnet, "{ sync(children):: { a: 'a' in children }, finalize(related):: { b: related.b } }"},
		{engine.Jsonnet, "function(request) { a: std.get(request.children, 'a') }"},
	} {
		s := engine.Script{Language: c.language, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(c.text)}}}
		var lookups [2][]engine.Lookup
		for i, e := range []*engine.Engine{here, workers} {
			p, err := e.Compile(t.Context(), s, engine.Limits{})
			if err != nil {
				t.Fatal(engine.DetailOf(err))
			}
			for _, fn := range []string{"sync", "finalize", "other"} {
				lookups[i] = append(lookups[i], p.(engine.Reading).Lookups(fn)...)
			}
		}
		if len(lookups[0]) == 0 {
			t.Errorf("%s: no lookups in %s", c.language, c.text)
		}
		if diff := cmp.Diff(lookups[0], lookups[1]); diff != "" {
			t.Errorf("%s: lookups (-in this process +in a worker):\n%s", c.language, diff)
		}
	}
}

// TestWarningsOfWorkers checks that a program in a worker process has the same warnings as one in this process.
func TestWarningsOfWorkers(t *testing.T) {
	_, workers := newPool(t, Options{})
	s := engine.Script{Language: engine.JavaScript, Entry: "sync", Files: fstest.MapFS{
		"sync": {Data: []byte("const lib = require('./lib');\nexports.sync = () => [lib.a(), lib.b()];")}, "lib.js": {Data: []byte("exports.name = 1;")},
	}}
	var warnings [2][]*engine.Error
	for i, e := range []*engine.Engine{engine.New(engine.Options{Runtimes: runtimes.All()}), workers} {
		p, err := e.Compile(t.Context(), s, engine.Limits{})
		if err != nil {
			t.Fatal(engine.DetailOf(err))
		}
		warnings[i] = p.(engine.Warned).Warnings()
	}
	if diff := cmp.Diff(warnings[0], warnings[1]); diff != "" || len(warnings[0]) != 2 {
		t.Errorf("%d warnings (-in this process +in a worker):\n%s", len(warnings[0]), diff)
	}
}
