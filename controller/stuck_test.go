package controller

import (
	"errors"
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/engine"
	"metascript/scripts"
)

func TestAVersionThatTakesTooLongIsTriedEverMoreSeldom(t *testing.T) {
	s, now := &Server{}, time.Now()
	c := &candidate{declaration: &declaration{Kind: "CompositeController"}, object: &object.Object{}, identity: "one"}
	late := &engine.Error{Kind: engine.KindTimeout}
	if s.noteStuck(c, late, now) {
		t.Error("it is told at once, and may be gone the next time")
	}
	if s.stuckAt(c, now) != nil {
		t.Error("it is not tried a second time at once")
	}
	for _, pause := range []time.Duration{firstStuck, 2 * firstStuck, 4 * firstStuck} {
		if !s.noteStuck(c, late, now) {
			t.Error("it is not told although it came again")
		}
		if err := s.stuckAt(c, now.Add(pause-1)); !errors.Is(err, late) {
			t.Errorf("before the pause of %s is over the error is %v", pause, err)
		}
		if !s.noteStuck(c, late, now.Add(pause-1)) || s.stuckAt(c, now.Add(pause)) != nil {
			t.Errorf("after the pause of %s it is not tried again", pause)
		}
		now = now.Add(pause)
	}
	edited := *c
	edited.identity = "two"
	if s.stuckAt(&edited, now) != nil {
		t.Error("an edit waits for the version before")
	}
	if !s.noteStuck(c, nil, now) || s.stuckAt(c, now) != nil {
		t.Error("a version that loads is stuck")
	}
}

func TestWhatMayPass(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {errors.New("x"), false},
		{&engine.Error{Kind: engine.KindTimeout}, true}, {&engine.Error{Kind: engine.KindCanceled}, true}, {&engine.Error{Kind: engine.KindSyntax}, false},
		{&scripts.Error{Reason: scripts.Unsettled}, true}, {&scripts.Error{Reason: scripts.NotFound}, false},
	} {
		if got := passing(c.err); got != c.want {
			t.Errorf("%#v may pass: %t", c.err, got)
		}
	}
}
