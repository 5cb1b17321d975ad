package javascript

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"metascript/engine"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

// files makes a script of alternating names and texts; the first is the entry.
func files(namesAndTexts ...string) engine.Script {
	s := engine.Script{Language: engine.JavaScript, Entry: namesAndTexts[0]}
	fs := fstest.MapFS{}
	for i := 0; i < len(namesAndTexts); i += 2 {
		fs[namesAndTexts[i]] = &fstest.MapFile{Data: []byte(namesAndTexts[i+1])}
	}
	s.Files = fs
	return s
}

// call compiles a script of one file and calls its sync, under the limits' timeout.
func call(t testing.TB, script string, request map[string]any, l engine.Limits) (map[string]any, error) {
	t.Helper()
	return callFiles(t, files("sync.js", script), request, l)
}

func callFiles(t testing.TB, s engine.Script, request map[string]any, l engine.Limits) (map[string]any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), l.WithDefaults().Timeout)
	defer cancel()
	p, err := New().Compile(ctx, s, l)
	if err != nil {
		return nil, err
	}
	return p.Call(ctx, "sync", request, engine.Env{Limits: l})
}

// wantError checks that err is a script's error of a kind, and gives it.
func wantError(t testing.TB, what string, err error, kind engine.Kind) *engine.Error {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v, want a %s error", what, err, kind)
		return nil
	}
	if e.Kind != kind {
		t.Errorf("%s: got %s, want %s: %v", what, e.Kind, kind, err)
	}
	return e
}
