package engine

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"metascript/engine/cputime"
)

// A fake is a runtime and a program that call functions of a test. The time that passes counts as CPU time.
type fake struct {
	compile func(ctx context.Context, s Script, l Limits) error
	call    func(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error)
}

func (f fake) Compile(ctx context.Context, s Script, l Limits) (Program, error) {
	CountBy(ctx, wallClock())
	if f.compile != nil {
		if err := f.compile(ctx, s, l); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// wallClock returns a clock that counts wall-clock time from now on, also in a bubble of synctest.
func wallClock() cputime.Clock {
	began := time.Now()
	return func() (time.Duration, bool) { return time.Since(began), true }
}

func (fake) Functions() []string { return []string{"sync"} }

func (f fake) Call(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error) {
	CountBy(ctx, wallClock())
	if f.call == nil {
		return map[string]any{}, nil
	}
	return f.call(ctx, fn, arg, env)
}

// A portedFake is a fake that is Ported.
type portedFake struct{ fake }

func (f portedFake) Compile(context.Context, Script, Limits) (Program, error) { return f, nil }
func (portedFake) Ported() bool                                               { return true }

// fakeLanguage is the language of the scripts below.
const fakeLanguage = "Fake"

func newFakeEngine(r Runtime) *Engine {
	return New(Options{Runtimes: map[string]Runtime{fakeLanguage: r}, Slots: 2})
}

// fakeScript returns a script with one file, main.
func fakeScript(text string) Script {
	return Script{Language: fakeLanguage, Entry: "main", Files: fstest.MapFS{"main": {Data: []byte(text)}}}
}

func mustCompile(t *testing.T, e *Engine, s Script) Program {
	t.Helper()
	p, err := e.Compile(t.Context(), s, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantKind checks that err is an *Error of that kind, and returns it.
func wantKind(t *testing.T, err error, want Kind) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e == nil {
		t.Fatalf("got error %v, want a %s", err, want)
	}
	if e.Kind != want {
		t.Fatalf("got a %s, want a %s: %s", e.Kind, want, e)
	}
	return e
}
