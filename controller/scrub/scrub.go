// Package scrub replaces the values of Secrets in whole objects, for files that are kept and given to others. Package redact, which is for
// short texts, replaces each part of a value by the same mark; here a value is replaced by a keyed hash, so that values that were
// equal still are, and the rest of the object stays as it is.
//
// A [Scrubber] has a random key, which is never stored, and the values of the Secrets that were added to it. It replaces:
//
//   - each value in data and stringData of a Secret, however short, also in its annotations of kubectl apply and of this program;
//   - a value of [shortest] bytes or more wherever else it stands in a text: as it is, in lower case, in base64 at any offset (also in
//     the alphabet for URLs), in hexadecimal, and with the escapes of JSON (also twice), URLs and HTML;
//   - each word of a value that looks like a password: see strong;
//   - a number that is written like a value of [shortestNumber] digits or more.
//
// These stay: a value that is a common word of the API, such as true or default; see [redact.Common]. A value of less than [boundedBelow]
// bytes within a longer word. A value that does not look like a password, in names of fields and objects; a value of any kind in
// apiVersion, kind, uid and resourceVersion.
//
// A value is replaced by "redacted-sha256-" and 32 hexadecimal digits, which is a valid name and label. What was base64 of a value becomes
// base64 of this text, so that a script that decodes it gets the same text as where the value stood as it is.
package scrub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// Prefix begins every text that replaces a value.
const Prefix = "redacted-sha256-"

const (
	shortest       = 4 // bytes of a value that is found outside of its Secret
	shortestNumber = 6 // digits of a value that is found as a number
	boundedBelow   = 6 // bytes: a value that is shorter is found only as a whole word
)

// A Scrubber replaces the values of the Secrets that were added to it. It is used by one goroutine at a time.
type Scrubber struct {
	key  []byte
	seed maphash.Seed

	added    map[packed.Ref]bool // Secrets that were added
	values   map[[sha256.Size]byte]bool
	patterns index
	written  written // what was left as it is
	late     bool
	path     []string // of the value that is looked at
	redacted []string // the paths of what was replaced in an object
}

// New returns a Scrubber without Secrets, with a random key.
func New() *Scrubber {
	s := &Scrubber{key: make([]byte, sha256.Size), seed: maphash.MakeSeed(), added: map[packed.Ref]bool{}, values: map[[sha256.Size]byte]bool{}}
	_, _ = rand.Read(s.key) // never fails
	s.patterns, s.written = newIndex(s.seed), newWritten()
	return s
}

// sum returns the keyed hash of a value.
func (s *Scrubber) sum(value string) [sha256.Size]byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(value))
	return [sha256.Size]byte(h.Sum(nil))
}

// mark returns what replaces a value.
func (s *Scrubber) mark(value string) string {
	sum := s.sum(value)
	return Prefix + hex.EncodeToString(sum[:16])
}

// maxAdded is how many Secrets are remembered as added. An object that is forgotten is only looked at again.
const maxAdded = 1 << 16

// Add adds the values of o, if it is a Secret. It ignores nil and other objects.
func (s *Scrubber) Add(o *object.Object) {
	if o == nil || !redact.IsSecret(o) {
		return
	}
	if p := o.Packed(); !p.IsZero() {
		if s.added[p.Ref()] {
			return
		}
		if len(s.added) >= maxAdded {
			clear(s.added)
		}
		s.added[p.Ref()] = true
	}
	content, _ := tree.MapOf(o.Value())
	eachValue(content, s.AddText)
	for key, text := range o.GetAnnotations() {
		if before := applied(key, text); before != nil {
			eachValue(before, s.AddText)
		}
	}
}

// AddText adds a value that is as secret as that of a Secret.
func (s *Scrubber) AddText(value string) {
	if len(value) < shortest || redact.Common(value) {
		return
	}
	sum := s.sum(value)
	if s.values[sum] {
		return
	}
	s.values[sum] = true
	s.late = s.late || s.written.mayHaveValue(value)
	s.patterns.add(value, s.mark(value))
	for word := range wordsOf(value) {
		s.late = s.late || s.written.mayHaveValue(word)
		s.patterns.add(word, s.mark(word))
	}
}

// Late reports whether a value was added that may be in a text which was not replaced before. It is certain that there is none if Late
// is false and the values look like passwords; see strong.
func (s *Scrubber) Late() bool { return s.late }

// dataFields are the fields of a Secret with its values.
var dataFields = []string{"data", "stringData"}

// eachValue calls use with each value of a Secret, decoded.
func eachValue(secret tree.Map, use func(string)) {
	for _, field := range dataFields {
		content, _ := secret.Get(field)
		values, ok := tree.MapOf(content)
		if !ok {
			continue
		}
		for _, v := range values.All() {
			if value, _ := plain(v, field); value != "" {
				use(value)
			}
		}
	}
}

// plain returns a value of a Secret as who uses the Secret gets it, and whether it was in base64.
func plain(v any, field string) (value string, encoded bool) {
	if v == nil {
		return "", false
	}
	text, ok := v.(string)
	if !ok {
		text = fmt.Sprint(tree.Native(v))
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
		return string(decoded), true
	}
	return text, false
}

// applied returns the object in an annotation with the last applied configuration; nil if it is another annotation.
func applied(key, text string) tree.Map {
	var before map[string]any
	if !strings.HasSuffix(key, appliedSuffix) || json.Unmarshal([]byte(text), &before) != nil || before == nil {
		return nil
	}
	return tree.GoMap(before)
}

// appliedSuffix ends the names of annotations with an earlier state of an object.
const appliedSuffix = "/last-applied-configuration"

// Object returns the content of o as JSON without the values, and the paths of what was replaced. The Secrets among the objects that are
// written together must be added before.
func (s *Scrubber) Object(o *object.Object) (content []byte, redacted []string, err error) {
	return s.JSON(o.Value())
}

// JSON is Object for any JSON-shaped value.
func (s *Scrubber) JSON(v any) (text []byte, redacted []string, err error) {
	s.path, s.redacted = s.path[:0], nil
	v, _ = s.value(v)
	text, err = tree.AppendJSON(nil, v)
	return text, s.redacted, err
}

// Text returns a text without the values, and whether something was replaced.
func (s *Scrubber) Text(text string) (clean string, redacted bool) {
	return s.text(text, false)
}

// Name is Text for the name of an object: only what looks like a password is replaced, as in names of objects.
func (s *Scrubber) Name(name string) string {
	clean, _ := s.text(name, true)
	return clean
}

// note adds the current path to those of what was replaced.
func (s *Scrubber) note() {
	var path strings.Builder
	for i, part := range s.path {
		if i > 0 && !strings.HasPrefix(part, "[") {
			path.WriteByte('.')
		}
		path.WriteString(part)
	}
	s.redacted = append(s.redacted, path.String())
}

// value returns v without the values, and whether it differs from v.
func (s *Scrubber) value(v any) (clean any, changed bool) {
	switch v := v.(type) {
	case string:
		if s.isFixed() {
			return v, false
		}
		clean, changed := s.text(v, s.isName())
		if changed {
			s.note()
		}
		return clean, changed
	case int64:
		return s.number(v, strconv.FormatInt(v, 10))
	case float64:
		if v != math.Trunc(v) {
			return v, false
		}
		return s.number(v, strconv.FormatFloat(v, 'f', -1, 64))
	}
	if m, ok := tree.MapOf(v); ok {
		return s.object(v, m)
	}
	if list, ok := tree.ArrayOf(v); ok {
		return s.list(v, list)
	}
	return v, false
}

// number replaces a number that is written like a value by another one of as many digits.
func (s *Scrubber) number(v any, text string) (clean any, changed bool) {
	if len(text) < shortestNumber || len(text) > maxDigits || !s.patterns.has(text) {
		return v, false
	}
	s.note()
	sum := s.sum(text)
	low := int64(math.Pow10(len(text) - 1))
	return low + int64(binary.BigEndian.Uint64(sum[:])%uint64(9*low)), true
}

// maxDigits is the maximum length of a number that is replaced. The result fits into an int64.
const maxDigits = 18

// list is value for lists.
func (s *Scrubber) list(v any, list tree.Array) (clean any, changed bool) {
	out, i := make([]any, list.Len()), 0
	for item := range elements(list) {
		s.path = append(s.path, "["+strconv.Itoa(i)+"]")
		var differs bool
		out[i], differs = s.value(item)
		changed = changed || differs
		s.path = s.path[:len(s.path)-1]
		i++
	}
	if !changed {
		return v, false
	}
	return out, true
}

// elements returns the elements of a list. Those of a packed one are read in their order, since each is found after the one before.
func elements(list tree.Array) iter.Seq[any] {
	if ordered, ok := list.(interface{ All() iter.Seq[any] }); ok {
		return ordered.All()
	}
	return func(yield func(any) bool) {
		for i := range list.Len() {
			if !yield(list.Index(i)) {
				return
			}
		}
	}
}

// object is value for maps. Whatever is written like a Secret is treated like one, wherever it is.
func (s *Scrubber) object(v any, m tree.Map) (clean any, changed bool) {
	secret := isSecret(m)
	var out map[string]any
	for key, item := range m.All() {
		newKey, keyDiffers := s.text(key, true)
		s.path = append(s.path, newKey)
		cleanItem, differs := s.field(secret, key, item)
		s.path = s.path[:len(s.path)-1]
		if !differs && !keyDiffers {
			continue
		}
		if out == nil {
			out = maps.Collect(m.All())
		}
		delete(out, key)
		out[newKey] = cleanItem
	}
	if out == nil {
		return v, false
	}
	return out, true
}

// field is value for a field of a map, whose key is the end of the path. secret: the map is a Secret.
func (s *Scrubber) field(secret bool, key string, v any) (clean any, changed bool) {
	if secret && slices.Contains(dataFields, key) {
		return s.data(v, key)
	}
	if text, ok := v.(string); ok {
		if before, found := s.annotation(key, text); found {
			return before, true
		}
	}
	return s.value(v)
}

// isSecret reports whether m has the kind of a Secret.
func isSecret(m tree.Map) bool {
	kind, _ := m.Get("kind")
	if kind != "Secret" {
		return false
	}
	version, _ := m.Get("apiVersion")
	return version == "v1"
}

// annotation returns the annotation with the last applied configuration of a Secret without its values; false if it is another one.
func (s *Scrubber) annotation(key, text string) (clean string, found bool) {
	if !strings.HasSuffix(key, appliedSuffix) || !strings.Contains(text, `"Secret"`) {
		return "", false
	}
	s.note()
	before := applied(key, text)
	if before == nil {
		return s.mark(text), true // it cannot be read: nothing of it is shown
	}
	inner := &Scrubber{key: s.key, seed: s.seed, patterns: s.patterns, written: s.written}
	content, _, err := inner.JSON(before)
	if err != nil {
		return s.mark(text), true
	}
	return string(content), true
}

// data replaces all values of a Secret.
func (s *Scrubber) data(v any, field string) (clean any, changed bool) {
	values, ok := tree.MapOf(v)
	if !ok {
		return s.value(v)
	}
	out := map[string]any{}
	for key, item := range values.All() {
		value, encoded := plain(item, field)
		if value == "" {
			out[key] = item
			continue
		}
		s.path = append(s.path, key)
		s.note()
		s.path = s.path[:len(s.path)-1]
		mark := s.mark(value)
		if encoded {
			mark = base64.StdEncoding.EncodeToString([]byte(mark))
		}
		out[key] = mark
	}
	return out, true
}

// isName reports whether the current path is that of the name of an object: there only what looks like a password is replaced, since
// objects are found by their names.
func (s *Scrubber) isName() bool {
	n := len(s.path)
	switch {
	case n == 2 && s.path[0] == "metadata":
		return s.path[1] == "name" || s.path[1] == "namespace" || s.path[1] == "generateName"
	case n == 4 && s.path[0] == "metadata" && s.path[1] == "ownerReferences":
		return s.path[3] == "name"
	}
	return false
}

// isFixed reports whether the current path is that of a text that is not replaced, since the API server made it, or it names an API.
func (s *Scrubber) isFixed() bool {
	n := len(s.path)
	switch {
	case n == 1:
		return s.path[0] == "apiVersion" || s.path[0] == "kind"
	case n == 2 && s.path[0] == "metadata":
		return slices.Contains([]string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"}, s.path[1])
	case n == 4 && s.path[0] == "metadata" && s.path[1] == "ownerReferences":
		return s.path[3] != "name"
	}
	return false
}
