package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"metascript/controller/object"
)

// A value is what must not be in a text.
type value string

// fields are those in which a Secret has its values.
var fields = []string{"data", "stringData"}

// eachOf goes through the values of Secrets, of which none is kept, and texts.
func eachOf(secrets []*object.Object, texts []string) iter.Seq[value] {
	return func(yield func(value) bool) {
		for _, text := range texts {
			if !yield(value(text)) {
				return
			}
		}
		for _, o := range secrets {
			if !valuesOf(o, yield) {
				return
			}
		}
	}
}

// remembered is how annotations end in which somebody remembers a Secret as it was: it may have held something else.
const remembered = "/last-applied-configuration"

// valuesOf yields the values of a Secret, decoded; what is no base64 as it is.
func valuesOf(o *object.Object, yield func(value) bool) bool {
	for key, text := range o.GetAnnotations() {
		var before map[string]any
		if strings.HasSuffix(key, remembered) && json.Unmarshal([]byte(text), &before) == nil && !valuesIn(before, yield) {
			return false
		}
	}
	return valuesIn(o.Object, yield)
}

func valuesIn(secret map[string]any, yield func(value) bool) bool {
	for _, field := range fields {
		values, _ := secret[field].(map[string]any)
		for _, v := range values {
			if v != nil && v != "" && !yield(decoded(v)) {
				return false
			}
		}
	}
	return true
}

// sizeOf is how large the values of a Secret are, or more.
func sizeOf(o *object.Object) int {
	size := 0
	for key, text := range o.GetAnnotations() {
		if strings.HasSuffix(key, remembered) {
			size += len(text)
		}
	}
	for _, field := range fields {
		values, _ := o.Object[field].(map[string]any)
		for _, v := range values {
			text, _ := v.(string)
			size += len(text)
		}
	}
	return size
}

// decoded is a value as whoever uses the Secret sees it. One that is no base64 was meant to be a Secret's.
func decoded(v any) value {
	text, ok := v.(string)
	if !ok {
		text = fmt.Sprint(v)
	}
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil && len(plain) > 0 {
		return value(plain)
	}
	return value(text)
}

// inLowerCase is how long a value is at most for its lower case to be looked for: a script needs that to make a name of a
// password, and of nothing larger.
const inLowerCase = 4 << 10

// A value is encoded by chunks, that overlap so that no gram is lost between two; both are multiples of three.
const (
	chunk   = 3 << 10
	overlap = 6
)

// scans is how many bytes are gone through to look for a value of so many.
func scans(size int) int { return 8*size + 64 }

// forms calls visit for every form in which parts of v are looked for.
func (v value) forms(visit func(form string)) {
	visit(string(v))
	if lower := strings.ToLower(string(v[:min(len(v), inLowerCase)])); len(v) <= inLowerCase && lower != string(v) {
		visit(lower)
	}
	// The characters of base64 hang together by three bytes, of which what precedes the value may be one or two.
	for before := range 3 {
		v.encode(before, visit)
	}
	for at := 0; at < len(v); at += chunk {
		visit(hex.EncodeToString([]byte(v[at:min(len(v), at+chunk+overlap)])))
	}
}

// encode visits v in base64 as it is after so many bytes, but for the characters that these are in.
func (v value) encode(before int, visit func(form string)) {
	plain := make([]byte, 0, before+chunk+overlap)
	for at := 0; at < len(v); at += chunk {
		plain = append(plain[:0], "\x00\x00"[:before]...)
		plain = append(plain, v[at:min(len(v), at+chunk+overlap)]...)
		form := base64.StdEncoding.EncodeToString(plain)
		if before > 0 {
			form = form[before+1:]
		}
		visit(form)
	}
}
