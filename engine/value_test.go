package engine

import (
	"strings"
	"testing"
)

func TestWalkPath(t *testing.T) {
	w := NewWalk(Limits{})
	if w.Path() != "" || w.Errorf("is odd").Msg != "the answer is odd" {
		t.Errorf("at the root: %q, %v", w.Path(), w.Errorf("is odd"))
	}
	_ = w.EnterKey("children")
	_ = w.EnterIndex(3)
	_ = w.EnterKey("a b")
	if got, want := w.Errorf("is %d", 1).Msg, `the answer at children[3]["a b"] is 1`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Leave()
	_ = w.EnterKey("name")
	if got, want := w.Path(), "children[3].name"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 100 {
		_ = w.EnterKey(strings.Repeat("x", 1000))
	}
	if got := w.Path(); len(got) > 12*(80+10) || !strings.HasPrefix(got, "children[3].name[") || !strings.Contains(got, "…[") {
		t.Errorf("a deep path is %q", got)
	}
}

func TestWalkLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		steps  func(w *Walk) *Error
		want   string
	}{
		{"nodes", Limits{Nodes: 2}, func(w *Walk) *Error { _, _ = w.Count(1), w.Count(1); return w.Count(1) }, "more than 2 values"},
		{"bytes", Limits{Output: 10}, func(w *Walk) *Error { return w.Count(11) }, "larger than 10 bytes"},
		{"keys", Limits{Output: 10}, func(w *Walk) *Error { _ = w.EnterKey("12345678"); return w.Count(0) }, "larger than 10 bytes"},
		{"depth", Limits{Depth: 1}, func(w *Walk) *Error { _ = w.EnterIndex(0); return w.EnterKey("a") }, "deeper than 1 levels at [0].a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.steps(NewWalk(test.limits))
			if err == nil || err.Kind != KindOutput || !strings.Contains(err.Msg, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	w := NewWalk(Limits{Depth: 1, Nodes: 2, Output: 10})
	for range 2 {
		if err := w.EnterIndex(0); err != nil {
			t.Error(err)
		}
		if err := w.Count(2); err != nil {
			t.Error(err)
		}
		w.Leave()
	}
}
