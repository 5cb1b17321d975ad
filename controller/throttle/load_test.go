package throttle

import (
	"errors"
	"testing"
	"time"

	"metascript/engine"
	"metascript/scripts"
)

func TestSlowVersionIsLoadedWithBackoff(t *testing.T) {
	b, now := &LoadBackoff{}, time.Now()
	late := &engine.Error{Kind: engine.KindTimeout}
	if b.Note("one", late, now) {
		t.Error("it is reported after the first failure")
	}
	if b.Blocked("one", now) != nil {
		t.Error("it is not tried a second time at once")
	}
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		if !b.Note("one", late, now) {
			t.Error("it is not reported after a repeated failure")
		}
		if err := b.Blocked("one", now.Add(pause-1)); !errors.Is(err, late) {
			t.Errorf("before the pause of %s is over the error is %v", pause, err)
		}
		if !b.Note("one", late, now.Add(pause-1)) || b.Blocked("one", now.Add(pause)) != nil {
			t.Errorf("after the pause of %s it is not tried again", pause)
		}
		now = now.Add(pause)
	}
	if b.Blocked("two", now) != nil {
		t.Error("an edit waits for the version before")
	}
	if !b.Note("one", nil, now) || b.Blocked("one", now) != nil {
		t.Error("a version that loads is stuck")
	}
}

func TestTransient(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {errors.New("x"), false},
		{&engine.Error{Kind: engine.KindTimeout}, true}, {&engine.Error{Kind: engine.KindCanceled}, true}, {&engine.Error{Kind: engine.KindSyntax}, false},
		{&scripts.Error{Reason: scripts.Unsettled}, true}, {&scripts.Error{Reason: scripts.NotFound}, false},
	} {
		if got := Transient(c.err); got != c.want {
			t.Errorf("%#v may pass: %t", c.err, got)
		}
	}
}
