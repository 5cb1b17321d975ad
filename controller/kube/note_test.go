package kube

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

func TestNoteIsOneLine(t *testing.T) {
	for _, c := range []struct{ name, message, want string }{
		{"plain", "all is well", "all is well"},
		{"lines and tabs", "sync.star:3:5:\n\tno such key\r\n  hint: get", "sync.star:3:5: no such key hint: get"},
		{"blanks around", "  \n a  b \t ", "a b"},
		{"the separators of Unicode", "a\u2028b\u2029c\u0085d\u00a0e\vf", "a b c d e f"},
		{"nothing", "", ""},
		{"only blanks", " \n\t ", ""},
		{"percent signs", "100% of %s %d", "100% of %s %d"},
	} {
		if got := newEvent("Normal", "Tested", "%s", []any{c.message}).Note; got != c.want {
			t.Errorf("%s: note %q, want %q", c.name, got, c.want)
		}
	}
	if got, want := newEvent("Normal", "Tested", "%s is %d\nof %d", []any{"web", 1, 2}).Note, "web is 1 of 2"; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
}

func TestDetailOfEventHasLinesOfScript(t *testing.T) {
	err := &engine.Error{Pos: engine.Pos{File: "sync.star", Line: 3, Col: 5}, Func: "sync", Msg: "unknown field", Source: "    phse", Hint: "did you mean phase?"}
	got := newEvent("Warning", "Tested", "%s: %v", []any{"web", err})
	want := Event{
		Type: "Warning", Reason: "Tested",
		Note:   "web: sync.star:3:5: in sync: unknown field (did you mean phase?)",
		Detail: "web: sync.star:3:5: in sync: unknown field\n        phse\n        ^\n  hint: did you mean phase?",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestLengthOfNoteIsLimited(t *testing.T) {
	const refused = 1024
	for name, c := range map[string]struct {
		message string
		cut     bool
	}{
		"of a thousand bytes":       {strings.Repeat("x", 1000), false},
		"of one more":               {strings.Repeat("x", 1001), true},
		"of the size it refuses":    {strings.Repeat("x", refused), true},
		"much longer":               {strings.Repeat("word ", 10_000), true},
		"of wide characters":        {strings.Repeat("ü", 1000), true},
		"of wider characters":       {strings.Repeat("€", 1000), true},
		"of the widest characters":  {strings.Repeat("👋", 1000), true},
		"shifted by a byte":         {"x" + strings.Repeat("👋", 1000), true},
		"shifted by two bytes":      {"xx" + strings.Repeat("👋", 1000), true},
		"short once it is one line": {strings.Repeat("\n", 5000) + "x", false},
	} {
		got := newEvent("Normal", "Tested", "%s", []any{c.message}).Note
		if len(got) >= refused || !utf8.ValidString(got) {
			t.Errorf("a note %s: %d bytes, valid text: %v", name, len(got), utf8.ValidString(got))
		}
		if cut := strings.HasSuffix(got, "…"); cut != c.cut {
			t.Errorf("a note %s: says that it was cut: %v, want %v", name, cut, c.cut)
		}
		if c.cut && len(got) < maxNote-utf8.UTFMax {
			t.Errorf("a note %s: only %d bytes of %d were used", name, len(got), maxNote)
		}
	}
}
