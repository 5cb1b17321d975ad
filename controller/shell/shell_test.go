package shell

import (
	"os/exec"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, word := range []string{"web", "a b", "", "$(id)", "`id`", "a'b", "'; id #", "a\nb", `\`, "~", "a=b", "*", "-x", "ü", "a\u202eb", "!x", "{a,b}"} {
		got, err := exec.Command("sh", "-c", "printf '%s|' "+Quote(word)).Output()
		if err != nil || string(got) != word+"|" {
			t.Errorf("%q is quoted as %s, and read as %q: %v", word, Quote(word), got, err)
		}
	}
	if got := Quote("pods/web.example.com"); got != "pods/web.example.com" {
		t.Errorf("a name becomes %s", got)
	}
}
