package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/scripts/lib"
)

var plain = Names{Max: 10, More: func(n int) string { return fmt.Sprint(n, " more") }}

func TestFind(t *testing.T) {
	files := fstest.MapFS{"a/b.x": {}, "c.x": {}, "own.x": {}}
	for _, c := range []struct{ name, want string }{
		{"b.x", "a/b.x"}, {"c.x", "c.x"}, {"./c.x", ""}, {"c", "c.x"}, {"lib.x", Library}, {"own.x", "own.x"}, {"../c.x", ""},
	} {
		file, found := Find(files, "a/from.x", c.name, []string{"lib.x", "own.x"}, "", ".x")
		if found != (c.want != "") || found && file != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, file, found, c.want)
		}
	}
}

func TestChain(t *testing.T) {
	c := Chain{"a", "b", "c"}
	if got := c.Cycle("b"); got != "b -> c -> b" {
		t.Errorf("got %q", got)
	}
	if got := c.Cycle("d"); got != "" {
		t.Errorf("got %q for a file that is not in the chain", got)
	}
	files := fstest.MapFS{"a": {}, "b": {}, "x": {}, "y": {}}
	if got := c.Loadable(files, "loaded", "lib"); got != "files that can be loaded: x, y; lib is built in" {
		t.Errorf("got %q", got)
	}
	if got := c.Loadable(fstest.MapFS{"a": {}}, "loaded", "lib"); got != "the script has no other files: put the file beside it; lib is built in" {
		t.Errorf("got %q", got)
	}
}

func TestReadFile(t *testing.T) {
	files := fstest.MapFS{"a": {Data: []byte("\ufefftext\ufeff")}}
	if text, err := ReadFile(files, "a"); err != nil || text != "text\ufeff" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := ReadFile(files, "b"); err == nil {
		t.Error("no error for a file that does not exist")
	}
}

func TestNames(t *testing.T) {
	many := strings.Fields(strings.Repeat("x ", maxListed+2))
	quoted := Names{Max: 10, Quoted: true, Dollar: true}
	for _, c := range []struct{ got, want string }{
		{plain.List(many), strings.Repeat("x, ", maxListed) + "2 more"},
		{plain.List([]string{"abcdefghijklm"}), "abcdefg…"},
		{plain.Quote(`a"`), `"a\""`},
		{plain.Suggest("snyc", []string{"sync"}, "it has "), "did you mean sync?"},
		{quoted.Suggest("snyc", []string{"sync"}, "it has "), `did you mean "sync"?`},
		{plain.Suggest("x", []string{"sync", "finalize"}, "it has "), "it has sync, finalize"},
		{plain.Suggest("x", nil, "it has "), "it has nothing"},
		{plain.Field("", "a"), "a"}, {plain.Field("a", "b_1"), "a.b_1"}, {plain.Field("a", "1b"), `a["1b"]`},
		{plain.Field("a", "$b"), `a["$b"]`}, {quoted.Field("a", "$b"), "a.$b"}, {plain.Field("a", "ä"), `a["ä"]`}, {plain.Field("a", ""), `a[""]`},
		{Element("a", 2), "a[2]"},
		{plain.NoFunction("f", "g", nil, "write one").Error(), `f: the script defines no function "g" (write one)`},
		{plain.NoFunction("f", "snyc", []string{"sync"}, "write one").Error(), `f: the script defines no function "snyc" (did you mean sync?)`},
		{plain.UnknownParameters(engine.Pos{}, []string{"x", "parnet"}, []string{"x", "parnet"}, []string{"parent"}).Error(), "the request has no x, parnet; its fields are parent (did you mean parent?)"},
		{LibraryError(fmt.Errorf("in: %w", &lib.Error{Msg: "m", Hint: "h"})).Error(), "m (h)"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if LibraryError(errors.New("other")) != nil {
		t.Error("another error was converted like one of the library")
	}
}

func TestTakesWhole(t *testing.T) {
	arg := map[string]any{"parent": 1, wholeName: 2}
	for name, want := range map[string]bool{"parent": false, wholeName: true, "other": true} {
		if TakesWhole(name, arg) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

func TestAt(t *testing.T) {
	for offset, want := range map[int]string{0: "f:1:1", 2: "f:1:2", 3: "f:1:3", 4: "f:2:1", 5: "f:2:2"} {
		if got := At("f", "äb\nc", offset).String(); got != want {
			t.Errorf("%d: got %s, want %s", offset, got, want)
		}
	}
}

func TestScanner(t *testing.T) {
	for _, c := range []struct {
		text, rest string
		read       func(*Scanner) bool
		want       bool
	}{
		{`"a\"b"c`, "c", func(s *Scanner) bool { return s.Quoted("") }, true},
		{`"a\`, "", func(s *Scanner) bool { return s.Quoted("") }, false},
		{"'a\nb'", "\nb'", func(s *Scanner) bool { return s.Quoted("\n") }, false},
		{"// a\nb", "b", (*Scanner).Comment, true},
		{"/* a */b", "b", (*Scanner).Comment, true},
		{"/*/b", "", (*Scanner).Comment, true},
		{"/a", "/a", (*Scanner).Comment, false},
		{"a_1 b", " b", func(s *Scanner) bool { return s.Word(Letter) == "a_1" }, true},
	} {
		s := &Scanner{Text: c.text}
		if got := c.read(s); got != c.want || s.Rest() != c.rest || s.Done() != (c.rest == "") {
			t.Errorf("%q: got %v, and %q is left", c.text, got, s.Rest())
		}
	}
}
