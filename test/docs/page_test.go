package docs

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		documented, printed string
		want                bool
	}{
		{"a b\n", "a    b  \n", true},
		{"  a\n", "a\n", false},
		{"a ... c\n", "a b b c\n", true},
		{"a...c\n", "a\nc\n", false},
		{"a\n...\nz\n", "a\nz\n", true},
		{"a\n...\nz\n", "a\nb\nc\nz\n", true},
		{"a\n...\n", "a\nb\n", true},
		{"...\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"", "", true},
		{"", "a\n", false},
		{"a(.*\n", "a(b\n", false},
		{"a\nb\n", "a\nE1126 01:03:53.750945   15910 request.go:1196] \"Unexpected error\" err=\"canceled\"\nb\n", true},
	} {
		if got := matches(c.documented, c.printed); got != c.want {
			t.Errorf("matches(%q, %q) is %t", c.documented, c.printed, got)
		}
	}
}

func TestReadsOnly(t *testing.T) {
	for text, want := range map[string]bool{
		"kubectl get pods\n":                         true,
		"kubectl get pods\nkubectl describe pod a\n": true,
		"kubectl get pods \\\n  -o wide\n":           true,
		"kubectl get pods\nkubectl delete pod a\n":   false,
		"cat a\n": false,
	} {
		if got := readsOnly(text); got != want {
			t.Errorf("readsOnly(%q) is %t", text, got)
		}
	}
}

func TestParse(t *testing.T) {
	page, err := parse("docs/a.md", "# A\n\n```sh\necho a\n```\n\n```text\na\n```\n\n<!-- exit 1 -->\n```sh\nfalse\n```\n- b\n\n  <!-- not run: c -->\n  ```js\n  d\n  ```\n")
	if err != nil {
		t.Fatal(err)
	}
	first, failing, indented := page.Blocks[0], page.Blocks[2], page.Blocks[3]
	if first.Text != "echo a\n" || first.String() != "docs/a.md:4" || first.Output != page.Blocks[1] {
		t.Errorf("the first block is %+v", first)
	}
	if failing.Exit != 1 || failing.Output != nil {
		t.Errorf("the block that fails is %+v", failing)
	}
	if indented.NotRun != "c" || indented.Text != "d\n" {
		t.Errorf("the block in the list is %+v", indented)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\na\n":                      "docs/a.md:2: the block does not end",
		"```text\na\n```\n":               "docs/a.md:2: there is no block of sh before this output",
		"<!-- exit one -->\n```sh\n```\n": "docs/a.md:3: the comment <!-- exit one --> before the block is none",
	} {
		if _, err := parse("docs/a.md", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
}

// Wrong blocks are found.
func TestValidateErrors(t *testing.T) {
	v, err := NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ language, text, want string }{
		{"yaml", "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: a}\nspec: {parentResources: {}}\n", "spec.parentResources"},
		{"yaml", "script: {langage: Starlark}\n", "langage"},
		{"yaml", "generateSelector: yes please\n", "generateSelector"},
		{"yaml", "a: 1\n", "neither an object"},
		{"yaml", "a: 1\na: 2\n", "already set"},
		{"yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {container: []}\n", "container"},
		{"python", "def sync(parent:\n", "sync.star:1"},
		{"js", "function sync( {\n", "sync.js:"},
		{"jsonnet", "{ sync(parent):: \n", "sync.jsonnet:"},
		{"json", "{a: 1}\n", "invalid"},
		{"jsonc", "{a: }\n", "sync.js:2"},
		{"", "a\n", "the language"},
	} {
		err := v.Validate(t.Context(), &Block{Page: "docs/a.md", Line: 2, Language: c.language, Text: c.text})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "docs/a.md:2: ") {
			t.Errorf("%q: the error is %v, want %s", c.text, err, c.want)
		}
	}
}

// A session keeps the directory and the variables from block to block, and tells where an output differs.
func TestSession(t *testing.T) {
	s, err := NewSession(t.TempDir(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(b Block) error { b.Page, b.Language = "docs/a.md", "sh"; return s.Run(t.Context(), &b) }
	for _, b := range []Block{
		{Text: "mkdir a\ncd a\nexport WORD=b\n"},
		{Text: "echo $WORD $(basename $PWD)\n", Output: &Block{Text: "b a\n"}},
		{Text: "echo x; exit 3\n", Exit: 3, Output: &Block{Text: "x\n"}},
		{Text: "trap 'echo end >ended' EXIT\necho started\nsleep 600\n", Background: true, Output: &Block{Text: "started\n"}},
		{Text: "cat ended\n", Interrupts: true, Output: &Block{Text: "end\n"}},
	} {
		if err := run(b); err != nil {
			t.Error(err)
		}
	}
	if err := run(Block{Text: "false\n", Line: 7}); err == nil || !strings.HasPrefix(err.Error(), "docs/a.md:7: the block exits with 1, want 0") {
		t.Errorf("of a block that fails: %v", err)
	}
	err = run(Block{Text: "echo a\n", Line: 7, Output: &Block{Page: "docs/a.md", Line: 11, Text: "b\n"}})
	if err == nil || !strings.HasPrefix(err.Error(), "docs/a.md:11: the output of docs/a.md:7 is different\n") {
		t.Errorf("of another output: %v", err)
	}
}
