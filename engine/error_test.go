package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestErrorTexts(t *testing.T) {
	e := &Error{
		Kind: KindRuntime, Pos: Pos{"sync.star", 2, 5}, Func: "sync", Msg: "no\n  such key", Source: "\tx = a.b", Hint: "look",
		Trace: []Frame{{"helper", Pos{"lib.star", 7, 0}, 480}, {"sync", Pos{"sync.star", 2, 5}, 0}},
	}
	if got, want := e.Error(), "sync.star:2:5: in sync: no such key (look)"; got != want {
		t.Errorf("Error: got %q, want %q", got, want)
	}
	want := strings.Join([]string{
		"sync.star:2:5: in sync: no", "  such key", "    \tx = a.b", "    \t   ^",
		"  at helper (lib.star:7), 480 times", "  at sync (sync.star:2:5)", "  hint: look",
	}, "\n")
	if got := e.Detail(); got != want {
		t.Errorf("Detail: got\n%s\nwant\n%s", got, want)
	}
	if got, want := DetailOf(fmt.Errorf("parent a: %w", e)), "parent a: "+want; got != want {
		t.Errorf("DetailOf: got\n%s\nwant\n%s", got, want)
	}
	e.Trace = e.Trace[1:]
	if got := e.Detail(); strings.Contains(got, "at sync") {
		t.Errorf("Detail: the trace only repeats the position:\n%s", got)
	}
	if got := DetailOf(context.Canceled); got != context.Canceled.Error() {
		t.Errorf("DetailOf: got %q", got)
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("0123456789", 50)
	tests := []struct {
		name, line string
		col        int
		shown      string
		caret      string // what is before it
	}{
		{"first", "abc", 1, "abc", ""},
		{"behind the end", "abc", 4, "abc", "   "},
		{"far behind the end", "abc", 99, "abc", "   "},
		{"tabs", "\ta\tb", 4, "\ta\tb", "\t \t"},
		{"characters", "é世界x", 4, "é世界x", "   "},
		{"long, begin", long, 3, long[:excerptWidth], "  "},
		{"long, middle", long, 251, long[190 : 190+excerptWidth], strings.Repeat(" ", 60)},
		{"long, end", long, 500, long[439:], strings.Repeat(" ", 60)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := "    " + test.shown + "\n    " + test.caret + "^"
			if got := Excerpt(test.line, test.col); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	if got := Excerpt("abc", 0); got != "    abc" {
		t.Errorf("without a column: %q", got)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "…"}, {"abcde", 4, "a…"}, {"éééé", 6, "é…"}, {"abc", 0, "…"}, {"", 0, ""}, {"the value is Xq7vTr9", 18, "the value is …"}, {"{\"value\":\"Xq7vTr9\"}", 18, "{\"value\":\"…"}} {
		if got := Clip(test.in, test.n); got != test.want {
			t.Errorf("Clip(%q, %d) is %q, want %q", test.in, test.n, got, test.want)
		}
	}
}

func TestStopped(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	if got := Stopped(canceled, Pos{}, Limits{}).Kind; got != KindCanceled {
		t.Errorf("canceled: got %s", got)
	}
	if got := Stopped(expired, Pos{}, Limits{}); got.Kind != KindTimeout || !strings.Contains(got.Msg, "5s") {
		t.Errorf("expired: got %v", got)
	}
}

func TestSourceLines(t *testing.T) {
	text := "\ufeff" + strings.Repeat("a\r\n", 200) + "\n" + strings.Repeat("b", 3) + "\n\n"
	from := newSources(fstest.MapFS{"main": {Data: []byte(text)}})
	for _, c := range []struct {
		pos, want Pos
		line      string
	}{
		{Pos{"main", 1, 1}, Pos{"main", 1, 1}, "a"},
		{Pos{"main", indexEvery, 1}, Pos{"main", indexEvery, 1}, "a"},
		{Pos{"main", indexEvery + 1, 1}, Pos{"main", indexEvery + 1, 1}, "a"},
		{Pos{"main", 201, 1}, Pos{"main", 201, 1}, ""},
		{Pos{"main", 202, 2}, Pos{"main", 202, 2}, "bbb"},
		{Pos{"main", 204, 1}, Pos{"main", 202, 4}, "bbb"},
		{Pos{"main", 1000, 1}, Pos{"main", 202, 4}, "bbb"},
		{Pos{"main", 0, 0}, Pos{"main", 0, 0}, ""},
		{Pos{"other", 1, 1}, Pos{"other", 1, 1}, ""},
	} {
		if line, pos := from.line(c.pos); line != c.line || pos != c.want {
			t.Errorf("%v: %q at %v, want %q at %v", c.pos, line, pos, c.line, c.want)
		}
	}
}
