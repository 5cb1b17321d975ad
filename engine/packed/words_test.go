package packed

import (
	"fmt"
	"testing"
)

// Words are read like other texts, take two bytes, and are not allocated.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range words {
		if seen[w] || len(w) == 0 || len(w) >= longestWord || len(words) > 256 {
			t.Errorf("%q is no valid word", w)
		}
		seen[w] = true
		for _, text := range []string{w, w + "x", w[1:]} {
			object := parse(t, fmt.Sprintf(`{"a":%q,"b":[%q],%q:1}`, text, text, text))
			check(t, "", object, map[string]any{"a": text, "b": []any{text}, text: int64(1)})
			if got := object.Text("a"); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
			if _, err := Load(object.Bytes()); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		object := parse(t, fmt.Sprintf(`{"a":%q}`, w))
		if n := len(object.Bytes()); n != 7 {
			t.Errorf("%q takes %d bytes", w, n)
		}
		if n := testing.AllocsPerRun(10, func() { _, _ = object.Get("a") }); n > 0 {
			t.Errorf("%q is allocated", w)
		}
	}
}
