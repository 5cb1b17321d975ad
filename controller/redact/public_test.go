package redact

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"metascript/controller/object"
)

func siteWith(texts ...any) *object.Object {
	return object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"texts": texts}})
}

// How much a parent has beside a guess has no effect: all of the parent is decoded.
func TestAllOfAParentIsDecoded(t *testing.T) {
	const guess = "qT7xW2mZp9LkV4"
	encoded := base64.StdEncoding.EncodeToString([]byte("___" + guess))
	words, escapes := strings.Repeat("hello worldly ", 900<<10/14), strings.Repeat(`hello%41+\n&amp;`, 4<<10)
	digits := strings.Repeat("ab12", 16<<10-3) + `%41\\n+&amp;`
	for name, texts := range map[string][]any{
		"words, and a guess in two parts": {words, "A" + encoded[:9], encoded[9:]},
		"escapes":                         {escapes, escapes, escapes, escapes, encoded},
		"digits and escapes":              {digits, digits, encoded},
	} {
		r := knowing("AAbb" + guess + "ZZ88nnQQ")
		r.AddPublic(siteWith(texts...))
		if got := r.Text("cannot use " + guess + " here"); strings.Contains(got, Mark) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Whether a part is public does not depend on how it is looked up.
func TestPartsOfPublicTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		all := make([]byte, n)
		for i := range all {
			all[i] = "ab"[r.IntN(2)]
		}
		return string(all)
	}
	for range 200 {
		var p public
		var texts []string
		for range 1 + r.IntN(4) {
			texts = append(texts, text(1+r.IntN(30)))
		}
		p.texts.add(texts)
		plain, indexed := p.text(), p.text()
		indexed.compared = indexCost*indexed.size() + 1
		lines := "\n" + strings.Join(texts, "\n") + "\n"
		for range 20 {
			part := text(1 + r.IntN(40))
			joins, most := false, false
			for i := 1; i < len(part); i++ {
				joins = joins || strings.Contains(lines, part[:i]+"\n") && strings.Contains(lines, "\n"+part[i:])
			}
			for skip := range slack + 1 {
				for cut := range slack + 1 {
					if n := len(part) - skip - cut; skip+cut <= len(part)/6 {
						most = most || strings.Contains(lines, part[skip:skip+n]) || strings.Contains(strings.Join(texts, ""), part[skip:skip+n])
					}
				}
			}
			for how, made := range map[string]*publicText{"without an index": plain, "with an index": indexed} {
				if got := made.ends([]byte(part)); got != joins {
					t.Errorf("%s: %s is joined from two of %q: %t", how, part, texts, got)
				}
				if got := made.hasMost([]byte(part)); got != most {
					t.Errorf("%s: most of %s is in %q: %t", how, part, texts, got)
				}
			}
		}
	}
}
