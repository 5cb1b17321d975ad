package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// A value is a text that must be removed.
type value string

// fields are the fields of a Secret with its values.
var fields = []string{"data", "stringData"}

// eachOf returns texts and the values of Secrets. It keeps no value.
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

// remembered is the suffix of annotations with an earlier state of a Secret, which may have other values.
const remembered = "/last-applied-configuration"

// valuesOf yields the values of a Secret as its users get them: those of data are decoded.
func valuesOf(o *object.Object, yield func(value) bool) bool {
	for key, text := range o.GetAnnotations() {
		var before map[string]any
		if strings.HasSuffix(key, remembered) && json.Unmarshal([]byte(text), &before) == nil && !valuesIn(tree.GoMap(before), yield) {
			return false
		}
	}
	content, _ := tree.MapOf(o.Value())
	return valuesIn(content, yield)
}

func valuesIn(secret tree.Map, yield func(value) bool) bool {
	for _, field := range fields {
		content, _ := secret.Get(field)
		values, ok := tree.MapOf(content)
		if !ok {
			values = tree.GoMap{field: content} // of another type than the API server accepts
		}
		for _, v := range values.All() {
			if v == nil || v == "" {
				continue
			}
			for part := range withoutBoundaries(plain(field, v)) {
				if !yield(part) {
					return false
				}
			}
		}
	}
	return true
}

// A boundary is a line of PEM that says what follows it. It reveals nothing, and its letters are in words of many errors: those
// of CERTIFICATE in verification and specific.
var boundary = regexp.MustCompile(`-----(?:BEGIN|END)(?: (?:ANY|CERTIFICATE|CRL|DH|DSA|EC|ENCRYPTED|KEY|NEW|OPENSSH|PARAMETERS|PRIVATE|PUBLIC|REQUEST|RSA|TRUSTED|X509))+-----`)

// withoutBoundaries returns the parts of a value between its boundaries: a value without one as a whole.
func withoutBoundaries(v value) iter.Seq[value] {
	return func(yield func(value) bool) {
		// Most values have none, and the expression is slower than this.
		if !strings.Contains(string(v), "-----") {
			yield(v)
			return
		}
		for _, part := range boundary.Split(string(v), -1) {
			if strings.TrimSpace(part) != "" && !yield(value(part)) {
				return
			}
		}
	}
}

// sizeOf returns an upper bound of the size of the values of a Secret.
func sizeOf(o *object.Object) int {
	size := 0
	for key, text := range o.GetAnnotations() {
		if strings.HasSuffix(key, remembered) {
			size += len(text)
		}
	}
	for _, field := range fields {
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

// plain returns a value of a field as a user of the Secret gets it. A value that is not valid base64 is secret too.
func plain(field string, v any) value {
	text, ok := v.(string)
	if !ok {
		text = fmt.Sprint(v)
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); field == "data" && err == nil && len(decoded) > 0 {
		return value(decoded)
	}
	return value(text)
}

// inLowerCase is the maximum length of a value that is also searched for in lower case: a script may make a name from a
// password, but not from a longer value.
const inLowerCase = 4 << 10

// A value is encoded in chunks, which overlap so that no gram is lost between two of them. Both are multiples of three.
const (
	chunk   = 3 << 10
	overlap = 6
)

// scans returns how many bytes a search for a value of this size reads.
func scans(size int) int { return 8*size + 64 }

// forms calls visit for each form in which v is searched for.
func (v value) forms(visit func(form string)) {
	visit(string(v))
	if lower := strings.ToLower(string(v[:min(len(v), inLowerCase)])); len(v) <= inLowerCase && lower != string(v) {
		visit(lower)
	}
	// base64 encodes three bytes at a time. One or two bytes before the value may be encoded together with its beginning.
	for before := range 3 {
		v.encode(before, visit)
	}
	for at := 0; at < len(v); at += chunk {
		visit(hex.EncodeToString([]byte(v[at:min(len(v), at+chunk+overlap)])))
	}
}

// encode visits v in base64 as it is encoded after before other bytes, without the characters that encode these.
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
