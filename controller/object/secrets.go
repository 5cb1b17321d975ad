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

// Redact gives text without secrets, which are those that Secrets gives.
func Redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// Secrets are the texts of what is in the Secrets among objects, the longest first, since one may be a part of another:
// values as they are stored, decoded, line by line, and as JSON writes them. Values of less than four bytes are not
// among them, and neither is what was derived from one.
func Secrets(objects iter.Seq[*Object]) []string {
	var hidden []string
	for o := range objects {
		if o != nil && IsSecret(o) {
			hidden = append(hidden, secretsOf(o)...)
		}
	}
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(hidden)
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
