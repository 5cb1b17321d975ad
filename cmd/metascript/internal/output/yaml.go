package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"metascript/engine/printable"
)

// YAML returns a value as YAML. Characters that are not printed are escaped, also those that the YAML package refuses or writes as they are.
func YAML(value any) ([]byte, error) {
	var asJSON bytes.Buffer
	encoder := json.NewEncoder(&asJSON)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	w := words{hash: fmt.Sprintf("z%x", sha256.Sum256(asJSON.Bytes()))}
	document, err := yaml.JSONToYAML([]byte(w.replaceIn(asJSON.String())))
	if err != nil || len(w.pairs) == 0 {
		return document, err
	}
	return []byte(strings.NewReplacer(w.pairs...).Replace(string(document))), nil
}

// The YAML package writes keys that are longer than shortKey in another form. It does not read JSON with keys that are longer than longKey.
const (
	shortKey = 128
	longKey  = 1000
)

// words are what the YAML package gets in the places of strings that it does not write well. No text has such a word, since it has the
// hash of the whole text.
type words struct {
	hash  string
	pairs []string // each word, and the string in quotes
}

// replaceIn returns JSON text with words in the places of strings.
func (w *words) replaceIn(asJSON string) string {
	var changed strings.Builder
	done := 0
	for i := 0; i < len(asJSON); i++ {
		if asJSON[i] != '"' {
			continue
		}
		begin := i
		for i++; asJSON[i] != '"'; i++ {
			if asJSON[i] == '\\' {
				i++
			}
		}
		var text string
		isKey := asJSON[i+1] == ':'
		if json.Unmarshal([]byte(asJSON[begin:i+1]), &text) != nil || printable.All(text) && !(isKey && len(text) > longKey) {
			continue
		}
		changed.WriteString(asJSON[done:begin] + `"` + w.wordOf(text) + `"`)
		done = i + 1
	}
	return changed.String() + asJSON[done:]
}

// wordOf returns the word for a string.
func (w *words) wordOf(text string) string {
	word, quoted := fmt.Sprintf("%sn%08d", w.hash, len(w.pairs)/2), printable.Quoted(text)
	if len(quoted) > shortKey {
		word += strings.Repeat("z", shortKey)
	}
	w.pairs = append(w.pairs, word, quoted)
	return word
}
