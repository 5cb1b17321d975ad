package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/style"
)

const page = "# A title\n\nThe first [sentence](a.md#b), which is\nlong. The **second** one with a [link of\ntwo lines](c.md).\n\n" +
	"<!-- not run: a comment -->\n```yaml\na: [b](c)\n```\n\n```sh\nls\n```\n```text\na\n```\n" +
	"- an item\n\n## Below\n\n| flag | default | |\n|---|---|---|\n| `--a` | 1 | a \\| b, see [c](d) |\n| `--b` | | " + "word " + "|\n"

func TestPlain(t *testing.T) {
	want := "A title\n\nThe first sentence, which is\nlong. The second one with a link of\ntwo lines.\n\n" +
		"    a: [b](c)\n\n    ls\n\n  Output:\n\n    a\n" +
		"- an item\n\nBelow\n\n  `--a`\n      default: 1\n      a | b, see c\n  `--b`\n      word\n"
	if diff := cmp.Diff(want, Plain(page, style.Styler{})); diff != "" {
		t.Errorf("plain text (-want +got):\n%s", diff)
	}
}

func TestFirstSentence(t *testing.T) {
	if title, sentence := FirstSentence(page); title != "A title" || sentence != "The first sentence, which is long." {
		t.Errorf("got %q and %q", title, sentence)
	}
}

func TestWrap(t *testing.T) {
	got := Wrap(strings.Repeat("word ", 50), "  ")
	for line := range strings.Lines(got) {
		if len(line) > Width+1 || !strings.HasPrefix(line, "  word") {
			t.Errorf("a line is %q", line)
		}
	}
	if strings.Count(got, "word") != 50 {
		t.Errorf("words are lost:\n%s", got)
	}
}
