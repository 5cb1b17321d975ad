package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A text whose compilation timed out is not compiled again, for any owner, except with a longer timeout.
func TestTimedOutCompileIsNotRepeated(t *testing.T) {
	var began atomic.Int64
	e := newFakeEngine(fake{compile: func(ctx context.Context, s Script, l Limits) error {
		began.Add(1)
		if l.Timeout > time.Second {
			return nil
		}
		<-ctx.Done()
		return Stopped(ctx, Pos{File: "main", Line: 1, Col: 2}, l)
	}})
	short, long := Limits{Timeout: time.Millisecond}, Limits{Timeout: 2 * time.Second}
	_, err := e.Compile(t.Context(), fakeScript("slow"), short)
	wantKind(t, err, KindTimeout)
	for _, owner := range []string{"a", "b"} {
		again := fakeScript("slow")
		again.Owner = owner
		_, err = e.Compile(t.Context(), again, short)
		fault := wantKind(t, err, KindTimeout)
		want := "main:1:2: timed out after 1ms: the same text is not compiled again (edit the script or restart the server, or raise timeout)"
		if fault.Error() != want || fault.Source != "slow" {
			t.Errorf("got  %s (line %q)\nwant %s", fault, fault.Source, want)
		}
	}
	if n := began.Load(); n != 1 {
		t.Errorf("%d compilations began, want 1", n)
	}
	if _, err := e.Compile(t.Context(), fakeScript("slow"), long); err != nil {
		t.Errorf("with more time: %v", err)
	}
	_, err = e.Compile(t.Context(), fakeScript("edited"), short)
	if wantKind(t, err, KindTimeout); strings.Contains(err.Error(), "again") {
		t.Errorf("another text: %v", err)
	}
}

// A compilation that was canceled for another reason than its timeout is no reason to refuse the text.
func TestCanceledCompileIsRepeated(t *testing.T) {
	canceled := true
	e := newFakeEngine(fake{compile: func(ctx context.Context, s Script, l Limits) error {
		if canceled {
			<-ctx.Done()
			return Stopped(ctx, Pos{File: "main"}, l)
		}
		return nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := e.Compile(ctx, fakeScript("a"), Limits{})
	wantKind(t, err, KindCanceled)
	canceled = false
	mustCompile(t, e, fakeScript("a"))
}

// A compilation that was refused, because a call of the same text had not ended yet, does not count as timed out.
func TestRefusedCompileIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e := newFakeEngine(fake{call: func(context.Context, string, map[string]any, Env) (map[string]any, error) {
			<-block
			return map[string]any{}, nil
		}})
		_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{})
		wantKind(t, err, KindTimeout)
		e.programs.programs.Purge()
		_, err = e.Compile(t.Context(), fakeScript("a"), Limits{})
		wantKind(t, err, KindTimeout)
		close(block)
		synctest.Wait()
		mustCompile(t, e, fakeScript("a"))
	})
}

// The text of a runaway is refused while it runs, and also afterwards if it ran for long: for calls, for another controller, and for a
// compilation with a longer timeout.
func TestTextOfARunawayIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e := newFakeEngine(fake{call: func(_ context.Context, fn string, _ map[string]any, _ Env) (map[string]any, error) {
			if fn == "block" {
				<-block
			}
			return map[string]any{}, nil
		}})
		p := mustCompile(t, e, fakeScript("a"))
		_, err := p.Call(t.Context(), "block", nil, Env{Owner: "CompositeController/a"})
		wantKind(t, err, KindTimeout)
		all := e.Runaways()
		if len(all) != 1 || all[0].Owner != "CompositeController/a" || all[0].Entry != "main" || all[0].Compiling || !all[0].Since.Equal(time.Now()) {
			t.Errorf("runaways: %+v", all)
		}
		time.Sleep(runawayAfter)
		close(block)
		synctest.Wait()

		if stats := e.Stats(); stats.Runaways != 0 || stats.RanAway != 1 {
			t.Errorf("%d runaways, %d since the start; want 0 and 1", stats.Runaways, stats.RanAway)
		}
		_, err = p.Call(t.Context(), "sync", nil, Env{})
		want := "ran for 10s after it: this text is not run again (edit the script: look for an operation on very large values; the same text runs again after a restart of the server)"
		if wantKind(t, err, KindTimeout); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got  %v\nwant …%s", err, want)
		}
		e.programs.programs.Purge()
		_, err = e.Compile(t.Context(), fakeScript("a"), Limits{Timeout: time.Hour})
		wantKind(t, err, KindTimeout)
		mustCompile(t, e, fakeScript("b"))
	})
}

// The number of refused texts is limited.
func TestRefusalsAreLimited(t *testing.T) {
	r := newRefusals()
	for i := range maxRefusals + 10 {
		r.timedOut(textKey{digest: fmt.Sprint(i)}, Limits{Timeout: time.Second}, &Error{Kind: KindTimeout})
	}
	if n := r.entries.Len(); n != maxRefusals {
		t.Errorf("%d texts are refused, want %d", n, maxRefusals)
	}
}
