package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"metascript/controller/recording"
)

// wrong are values that replace others in a recording that was edited by hand.
var wrong = []any{nil, "", "x", "\x00\u2028", -1, 0, 1e300, true, []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil}, []any{map[string]any{"kind": 1}}, strings.Repeat("ä", 300)}

// mutate replaces or removes one value in v at random, and returns v.
func mutate(r *rand.Rand, v any) any {
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 || r.IntN(8) == 0 {
			break
		}
		keys := make([]string, 0, len(x))
		for key := range x {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		key := keys[r.IntN(len(keys))]
		if r.IntN(6) == 0 {
			delete(x, key)
		} else {
			x[key] = mutate(r, x[key])
		}
		return x
	case []any:
		if len(x) == 0 || r.IntN(8) == 0 {
			break
		}
		i := r.IntN(len(x))
		switch r.IntN(6) {
		case 0:
			return slices.Delete(x, i, i+1)
		case 1:
			return append(x, x[i])
		}
		x[i] = mutate(r, x[i])
		return x
	}
	return wrong[r.IntN(len(wrong))]
}

// replaceContent replaces the content of the object in a line of a recording. Its digest is right, and references to it stay.
func replaceContent(t testing.TB, lines []string, at int, content any) {
	var line recording.Line
	if err := json.Unmarshal([]byte(lines[at]), &line); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	digest := recording.DigestOf(text)
	lines[at] = fmt.Sprintf(`{"object":{"digest":%q,"content":%s}}`, digest, text)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], line.Object.Digest, digest)
	}
}

// mutated returns lines of a recording with some values replaced.
func mutated(t testing.TB, r *rand.Rand, lines string) string {
	all := strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
	for range 1 + r.IntN(4) {
		i := 1 + r.IntN(len(all)-1)
		var line map[string]any
		if err := json.Unmarshal([]byte(all[i]), &line); err != nil {
			t.Fatal(err)
		}
		if object, is := line["object"].(map[string]any); is {
			replaceContent(t, all, i, mutate(r, object["content"]))
			continue
		}
		mutate(r, line)
		text, _ := json.Marshal(line)
		all[i] = string(text)
	}
	return strings.Join(all, "\n") + "\n"
}

// Whatever is in a recording, a replay ends with an error or with a report in which each call is counted.
func TestRecordingsEditedAtRandom(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 20
	}
	for _, example := range []string{"catset", "configmap-propagation", "indexedjob"} {
		t.Run(example, func(t *testing.T) {
			f := recordExample(t, example)
			whole, err := os.ReadFile(f.file)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(seeds) {
				f.write(whole)
				f.write(edited(t, f.file, func(lines string) string { return mutated(t, rand.New(rand.NewPCG(seed, 1)), lines) }))
				report, err := f.try(nil)
				if err != nil {
					continue
				}
				counted := report.Same + report.Kept + report.Unrelated + report.Different
				for _, skipped := range report.NotReplayed {
					counted += skipped.Calls
				}
				if counted != report.Calls || text(report) == "" {
					t.Errorf("seed %d: %d of %d calls are counted:\n%s", seed, counted, report.Calls, text(report))
				}
			}
		})
	}
}

func TestParentsOfAnotherVersion(t *testing.T) {
	f := recordFleet(t)
	f.write(edited(t, f.file, func(text string) string {
		lines := strings.Split(text, "\n")
		for i := range lines {
			if _, content, is := strings.Cut(lines[i], `"content":{"apiVersion":"example.com/v1","kind":"Site"`); is {
				var rest map[string]any
				if err := json.Unmarshal([]byte(`{"apiVersion":"example.com/v0","kind":"Site"`+strings.TrimSuffix(content, "}}")), &rest); err != nil {
					t.Fatal(err)
				}
				replaceContent(t, lines, i, rest)
			}
		}
		return strings.Join(lines, "\n")
	}))
	const want = "Site in example.com/v0 is not a kind of the parents of the controller: they are Site in example.com/v1"
	if r := f.replay(nil); len(r.NotReplayed) != 1 || r.NotReplayed[0].Calls != r.Calls || r.NotReplayed[0].Reason != want {
		t.Errorf("want %q, got:\n%s", want, text(r))
	}
}
