package scripts

import (
	"io/fs"
	"strings"
	"testing"

	"metascript/engine"
)

// script returns a script with text and modules.
func script(language, source string, modules map[string]string) (Assembled, error) {
	return Sources{}.Assemble(Wanted{Language: language, Inline: source, Modules: modules}, false)
}

func TestInline(t *testing.T) {
	s, err := script(engine.Starlark, "def sync(): pass", map[string]string{"lib/labels.star": "x = 1"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Source != "inline" || s.Entry != "sync.star" || s.Language != engine.Starlark {
		t.Errorf("got entry %q in %q, want sync.star in Starlark", s.Entry, s.Language)
	}
	for name, want := range map[string]string{"sync.star": "def sync(): pass", "lib/labels.star": "x = 1"} {
		if got, err := fs.ReadFile(s.Files, name); err != nil || string(got) != want {
			t.Errorf("file %s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestInlineReturnsErrors(t *testing.T) {
	for _, c := range []struct{ language, module, want string }{
		{"Lua", "lib.lua", `language "Lua": want one of JavaScript, Jsonnet, Starlark`},
		{"", "lib.js", `language "": want one of`},
		{engine.JavaScript, "../lib.js", `module "../lib.js": want a file name`},
		{engine.JavaScript, "/lib.js", `module "/lib.js": want a file name`},
		{engine.JavaScript, "", `module "": want a file name`},
		{engine.JavaScript, "sync.js", `module "sync.js": that is the name of the script itself`},
	} {
		_, err := script(c.language, "", map[string]string{c.module: ""})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Inline(%q, module %q): got error %v, want %q", c.language, c.module, err, c.want)
		}
	}
}
