package secretvalues

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// Is reports whether o is a Secret.
func Is(o *object.Object) bool { return IsKind(o.GroupVersionKind()) }

// IsKind reports whether kind is that of Secrets.
func IsKind(kind object.Kind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// Fields are the fields of a Secret with its values.
var Fields = []string{"data", "stringData"}

// appliedSuffix ends the names of annotations with an earlier state of an object, which may have other values.
const appliedSuffix = "/last-applied-configuration"

// Applied returns the object in an annotation with the last applied configuration; nil if it is another annotation, or cannot be read.
func Applied(key, text string) tree.Map {
	var before map[string]any
	if !IsApplied(key) || json.Unmarshal([]byte(text), &before) != nil || before == nil {
		return nil
	}
	return tree.GoMap(before)
}

// IsApplied reports whether key is that of an annotation with the last applied configuration.
func IsApplied(key string) bool { return strings.HasSuffix(key, appliedSuffix) }

// Each returns the values of a Secret as its users get them: those of data are decoded. Those of before the last kubectl apply are among them.
func Each(o *object.Object) iter.Seq[string] {
	return func(yield func(string) bool) {
		content, _ := tree.MapOf(o.Value())
		if !eachIn(content, yield) {
			return
		}
		for key, text := range o.GetAnnotations() {
			if before := Applied(key, text); before != nil && !eachIn(before, yield) {
				return
			}
		}
	}
}

func eachIn(secret tree.Map, yield func(string) bool) bool {
	for _, field := range Fields {
		content, _ := secret.Get(field)
		values, ok := tree.MapOf(content)
		if !ok {
			values = tree.GoMap{field: content} // of another type than the API server accepts
		}
		for _, v := range values.All() {
			if value, _ := Plain(v, field); value != "" && !yield(value) {
				return false
			}
		}
	}
	return true
}

// Plain returns a value of a field of a Secret as a user of the Secret gets it, and whether it was in base64. A value of data that is not valid
// base64 is secret too.
func Plain(v any, field string) (value string, encoded bool) {
	if v == nil {
		return "", false
	}
	text, ok := v.(string)
	if !ok {
		text = fmt.Sprint(tree.Native(v))
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" && len(decoded) > 0 {
		return string(decoded), true
	}
	return text, false
}

// Size returns an upper bound of the size of the values of a Secret, in bytes.
func Size(o *object.Object) int {
	size := 0
	for key, text := range o.GetAnnotations() {
		if IsApplied(key) {
			size += len(text)
		}
	}
	for _, field := range Fields {
		content, _ := o.At(field)
		values, ok := tree.MapOf(content)
		if !ok {
			continue
		}
		for _, v := range values.All() {
			text, _ := v.(string)
			size += len(text)
		}
	}
	return size
}
