package hook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"metascript/engine"
)

// An answer with many mistakes has few warnings, and a last one with the number of the others.
func TestWarningsOfAnAnswerAreLimited(t *testing.T) {
	undeclared := func(i int) string {
		return fmt.Sprintf("{apiVersion: example.com/v%d, kind: Unknown%d, metadata: {name: a}}", i, i)
	}
	for what, item := range map[string]func(int) string{
		"nulls":            func(int) string { return "null" },
		"undeclared kinds": undeclared,
		"duplicates":       func(int) string { return "{apiVersion: v1, kind: Pod, metadata: {name: a}}" },
		"words":            func(i int) string { return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: a-null-%d}}", i) },
	} {
		var items []string
		for i := range 1000 {
			items = append(items, item(i))
		}
		s := ported(t, "{children: ["+strings.Join(items, ", ")+"]}")
		s.Program.(*program).language = "JavaScript"
		located := 0
		s.Program.(*program).located = func() { located++ }
		resp := ask(t, s, newRequest(t))
		warnings := warnings(resp)
		further := 1000 - MaxWarnings
		if what == "duplicates" {
			further-- // the first one is no duplicate
		}
		if want := fmt.Sprintf("and %d more warnings about the answer", further); len(warnings) != MaxWarnings+1 || !slices.Contains(warnings, want) {
			t.Errorf("%s: %d warnings, want %d of which the last one is %q: %q", what, len(warnings), MaxWarnings+1, want, warnings)
		}
		if located != MaxWarnings {
			t.Errorf("%s: %d places were searched for, want %d", what, located, MaxWarnings)
		}
	}
}

// A text that a ported script answers is limited like an answer before it is decoded: values need many times the memory of their text.
func TestBodyOfAnAnswerIsLimited(t *testing.T) {
	for what, c := range map[string]struct {
		body string
		want engine.Kind
	}{
		"many values":   {`{"children": [` + strings.Repeat("{},", 1_000_000) + `{}]}`, engine.KindOutput},
		"many elements": {`{"status": {"a": [` + strings.Repeat("1,", 150_000) + `1]}}`, engine.KindOutput},
		"deep":          {`{"status": ` + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 101), engine.KindOutput},
		"long keys":     {`{"status": {"` + strings.Repeat("k", 1<<20) + `": [` + strings.Repeat("1,", 1000) + `1]}}`, engine.KindOutput},
		"a small one":   {`{"status": {"a": 1}, "children": []}`, ""},
	} {
		s := ported(t, "{}")
		s.Program.(*program).call = func(context.Context, string, map[string]any, engine.Env) (map[string]any, error) {
			return map[string]any{"status": int64(200), "body": c.body}, nil
		}
		_, err := s.Call(t.Context(), newRequest(t))
		if c.want == "" && err != nil || c.want != "" && !engine.IsKind(err, c.want) {
			t.Errorf("%s: error %v, want one of kind %q", what, err, c.want)
		}
	}
}

// What is done with an answer ends with the context.
func TestDecodingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := script(t, "{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}")
	answer := s.Program.(*program).call
	s.Program.(*program).call = func(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
		defer cancel()
		return answer(ctx, fn, arg, env)
	}
	if _, err := s.Call(ctx, newRequest(t)); !engine.IsKind(err, engine.KindCanceled) {
		t.Errorf("error %v, want that it was canceled", err)
	}
}
