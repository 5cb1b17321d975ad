package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"metascript/engine"
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
