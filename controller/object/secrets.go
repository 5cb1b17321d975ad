package object

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// redacted stands for what is in a Secret.
const redacted = "[redacted]"

// shortest is how long, in bytes, what is redacted is at least: shorter values are found everywhere by chance.
const shortest = 4

// IsSecret reports whether o is a Secret.
func IsSecret(o *Object) bool {
	kind := o.GroupVersionKind()
	return kind.Group == "" && kind.Kind == "Secret"
}

// Redact gives text without what is in the Secrets among objects: their values as they are stored, decoded, line by
// line, and as JSON writes them. Values of less than four bytes are left, and so is what was derived from one.
func Redact(text string, objects iter.Seq[*Object]) string {
	var hidden []string
	for o := range objects {
		if o != nil && IsSecret(o) {
			hidden = append(hidden, secretsOf(o)...)
		}
	}
	// The longest first, since one may be a part of another.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range slices.Compact(hidden) {
		text = strings.ReplaceAll(text, value, redacted)
	}
	return text
}

// secretsOf are the texts that must not be told of a Secret.
func secretsOf(o *Object) []string {
	var all []string
	for _, field := range []string{"data", "stringData"} {
		values, _ := o.Object[field].(map[string]any)
		for _, value := range values {
			all = append(all, formsOf(value)...)
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < shortest })
}

// formsOf are the texts in which a value may appear.
func formsOf(value any) []string {
	text, ok := value.(string)
	if !ok {
		return []string{fmt.Sprint(value)}
	}
	forms := []string{text, base64.StdEncoding.EncodeToString([]byte(text))}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		forms = append(forms, string(decoded))
	}
	for _, form := range forms {
		forms = append(forms, strings.Fields(form)...)
		if quoted, err := json.Marshal(form); err == nil {
			forms = append(forms, strings.Trim(string(quoted), `"`))
		}
		forms = append(forms, strings.Trim(fmt.Sprintf("%q", form), `"`))
	}
	return forms
}
