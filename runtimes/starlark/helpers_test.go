package starlark

import (
	"errors"
	"testing"
	"testing/fstest"

	"metascript/engine"
)

// script returns a script with one file, sync.star.
func script(text string) engine.Script {
	return engine.Script{Language: engine.Starlark, Entry: "sync.star", Files: fstest.MapFS{
		"sync.star": {Data: []byte(text), Mode: 0o444},
	}}
}

func compile(t testing.TB, text string) engine.Program {
	t.Helper()
	p, err := New().Compile(t.Context(), script(text), engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	return p
}

// eval compiles text and calls its function sync.
func eval(t testing.TB, text string, arg map[string]any, l engine.Limits) (map[string]any, error) {
	t.Helper()
	return compile(t, text).Call(t.Context(), "sync", arg, engine.Env{Limits: l})
}

// wantError checks that err is a script's error of the kind, and returns it.
func wantError(t *testing.T, err error, want engine.Kind) *engine.Error {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a %s", err, want)
	}
	if e.Kind != want {
		t.Fatalf("got a %s, want a %s: %s", e.Kind, want, e.Detail())
	}
	return e
}
