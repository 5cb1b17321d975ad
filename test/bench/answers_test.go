package bench

import (
	"encoding/json"
	"testing"

	"metascript/engine"
	"metascript/test/bench/pods"
)

// The functions that are compared must return the same answers.
func TestAnswersAreTheSame(t *testing.T) {
	plain, arg := plainRequest(12), request(12)
	for function, f := range inGo {
		checkAnswer(t, function, "webhook", webhook(t, function), plain, text(t, f(plain)))
	}
	for _, isolation := range isolations {
		e := newEngine(t, isolation)
		for _, language := range languages {
			for function, f := range inGo {
				checkAnswer(t, function, language+" "+isolation, script(t, e, language, function), arg, text(t, f(plain)))
			}
		}
	}
}

func checkAnswer(t *testing.T, function, by string, call callFunc, arg map[string]any, want string) {
	t.Helper()
	answer, err := call(t.Context(), arg)
	if err != nil {
		t.Fatalf("%s, %s: %s", by, function, engine.DetailOf(err))
	}
	if got := text(t, answer); got != want {
		t.Errorf("%s, %s:\n got %s\nwant %s", by, function, got, want)
	}
}

// The sizes of the objects must be those that docs/benchmarks.md has.
func TestSizes(t *testing.T) {
	for _, s := range []struct {
		name   string
		object map[string]any
		want   int
	}{{"parent", parent(3), 1900}, {"pod", pods.New(pods.Name(9), 9), 3200}} {
		if size := len(text(t, s.object)); size < s.want*95/100 || size > s.want*105/100 {
			t.Errorf("%s has %d bytes, want about %d", s.name, size, s.want)
		}
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
