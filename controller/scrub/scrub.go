// Package scrub replaces the values of Secrets in whole objects, for files that are kept and given to others. Package redact, which is for
// short texts, replaces each part of a value by the same mark; here a value is replaced by a keyed hash, so that values that were
// equal still are, and the rest of the object stays as it is.
//
// A [Scrubber] has a random key, which is never stored, and the values of the Secrets that were added to it. It replaces:
//
//   - each value in data and stringData of a Secret, however short, also in its annotations of kubectl apply and of this program;
//   - a value of four bytes or more wherever else it stands in a text, in each way in which the text can be read: see package secretvalues;
//   - each text in a value that is secret on its own, such as a password in a connection string: see [secretvalues.Texts];
//   - a number that is written like a value of [shortestNumber] digits or more.
//
// These stay: a value that is a common word of the API, such as true or default; see [secretvalues.IsCommon]. A value of less than six bytes
// within a longer word. A value that does not look like a password, in names of fields and objects; a value of any kind in apiVersion,
// kind, uid and resourceVersion of an object.
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
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"metascript/controller/object"
	"metascript/controller/secretvalues"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// Prefix begins every text that replaces a value.
const Prefix = "redacted-sha256-"

// shortestNumber is the number of digits of a value that is found as a number.
const shortestNumber = 6

// A Scrubber replaces the values of the Secrets that were added to it. It is used by one goroutine at a time.
type Scrubber struct {
	key []byte

	added    map[packed.Ref]bool // Secrets that were added
	values   map[[sha256.Size]byte]bool
	patterns *secretvalues.Index[pattern]
	plain    *plainTexts
	written  written // what was left as it is
	late     bool
	isObject bool     // what is looked at is an object
	path     []step   // of the value that is looked at
	entries  []entry  // of the maps that are looked at
	redacted []string // the paths of what was replaced in an object
	buffer   []byte
}

// A step is a part of a path: the key of a map, or if that is empty, the index of a list.
type step struct {
	key   string
	index int
}

// New returns a Scrubber without Secrets, with a random key.
func New() *Scrubber {
	s := &Scrubber{key: make([]byte, sha256.Size), added: map[packed.Ref]bool{}, values: map[[sha256.Size]byte]bool{}}
	_, _ = rand.Read(s.key) // never fails
	s.patterns, s.plain, s.written = &secretvalues.Index[pattern]{}, &plainTexts{seed: maphash.MakeSeed()}, newWritten()
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
	if o == nil || !secretvalues.Is(o) {
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
	for value := range secretvalues.Each(o) {
		s.AddText(value)
	}
}

// AddOther is Add for a Secret that has nothing to do with what is replaced: it is not late, whatever was replaced before.
func (s *Scrubber) AddOther(o *object.Object) {
	late := s.late
	s.Add(o)
	s.late = late
}

// maxTexts is the number of texts of values from which a Scrubber is full. Each needs about 150 bytes.
const maxTexts = 500_000

// Full reports whether there are so many texts of values that Secrets that were not read should not be added.
func (s *Scrubber) Full() bool { return s.patterns.Len() >= maxTexts }

// AddText adds a value that is as secret as that of a Secret.
func (s *Scrubber) AddText(value string) {
	sum := s.sum(value)
	if s.values[sum] {
		return
	}
	s.values[sum] = true
	for text := range secretvalues.Texts(value) {
		mark := s.mark(text.Text)
		if text.Text == strings.TrimSpace(value) {
			// A file from which a Secret was made often ends with a line break, and who reads the value often removes it. The mark is that of
			// the value, so that a script that removes it gets the same text.
			mark = s.mark(value)
		}
		if s.patterns.Put(text.Text, pattern{mark, text.Strong}) {
			s.plain.clear()
			s.late = s.late || text.Strong && s.written.mayHaveValue(text.Text)
		}
	}
}

// Late reports whether a value was added that may be in a text which was not replaced before. It is certain that there is none if Late
// is false and the values look like passwords; see strong.
func (s *Scrubber) Late() bool { return s.late }

// Values returns how many values were added.
func (s *Scrubber) Values() int { return len(s.values) }

// Object returns the content of o as JSON without the values, and the paths of what was replaced. The Secrets among the objects that are
// written together must be added before.
func (s *Scrubber) Object(o *object.Object) (content []byte, redacted []string, err error) {
	return s.json(o.Value(), true)
}

// JSON is Object for any other JSON-shaped value, such as a status.
func (s *Scrubber) JSON(v any) (text []byte, redacted []string, err error) {
	return s.json(v, false)
}

func (s *Scrubber) json(v any, isObject bool) (text []byte, redacted []string, err error) {
	s.isObject = isObject
	s.path, s.entries, s.redacted = s.path[:0], s.entries[:0], nil
	if s.buffer, err = s.append(s.buffer[:0], v); err != nil {
		return nil, nil, err
	}
	text = slices.Clone(s.buffer)
	if cap(s.buffer) > maxSpare {
		s.buffer = nil
	}
	return text, s.redacted, nil
}

// maxSpare is the size up to which the buffer of a text is used again.
const maxSpare = 1 << 20

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
	for i, step := range s.path {
		switch {
		case step.key == "":
			path.WriteString("[" + strconv.Itoa(step.index) + "]")
		case i > 0:
			path.WriteString("." + step.key)
		default:
			path.WriteString(step.key)
		}
	}
	s.redacted = append(s.redacted, path.String())
}

// append appends the JSON of v without the values.
func (s *Scrubber) append(dst []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case string:
		return s.appendText(dst, x), nil
	case int64:
		if x > -1e4 && x < 1e5 { // too short to be replaced
			break
		}
		return tree.AppendJSON(dst, s.number(v, strconv.FormatInt(x, 10)))
	case float64:
		if x != math.Trunc(x) {
			break
		}
		return tree.AppendJSON(dst, s.number(v, strconv.FormatFloat(x, 'f', -1, 64)))
	}
	if m, ok := tree.MapOf(v); ok && m.Len() > 0 {
		return s.appendMap(dst, m)
	}
	if list, ok := tree.ArrayOf(v); ok && list.Len() > 0 {
		return s.appendList(dst, list)
	}
	return tree.AppendJSON(dst, v)
}

// appendText is append for a text.
func (s *Scrubber) appendText(dst []byte, text string) []byte {
	if s.isFixed() {
		return tree.AppendText(dst, text)
	}
	clean, changed := s.text(text, s.isName())
	if changed {
		s.note()
	}
	return tree.AppendText(dst, clean)
}

// number replaces a number that is written like a value by another one of as many digits.
func (s *Scrubber) number(v any, text string) any {
	digits := strings.TrimPrefix(text, "-")
	_, isValue := s.patterns.Has(text)
	_, areValue := s.patterns.Has(digits)
	if len(digits) < shortestNumber || !isValue && !areValue {
		return v
	}
	s.note()
	sum := s.sum(text)
	low := int64(math.Pow10(min(len(digits), maxDigits) - 1))
	other := low + int64(binary.BigEndian.Uint64(sum[:])%uint64(9*low))
	if text != digits {
		return -other
	}
	return other
}

// maxDigits is the maximum length of a number in place of another one. It fits into an int64.
const maxDigits = 18

// appendList is append for a list.
func (s *Scrubber) appendList(dst []byte, list tree.Array) ([]byte, error) {
	dst = append(dst, '[')
	at := len(s.path)
	s.path = append(s.path, step{})
	var err error
	for item := range elements(list) {
		if s.path[at].index > 0 {
			dst = append(dst, ',')
		}
		if dst, err = s.append(dst, item); err != nil {
			return nil, err
		}
		s.path[at].index++
	}
	s.path = s.path[:at]
	return append(dst, ']'), nil
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

// appendMap is append for a map. Whatever is written like a Secret is treated like one, wherever it is.
func (s *Scrubber) appendMap(dst []byte, m tree.Map) ([]byte, error) {
	secret, renamed := isSecret(m), false
	at, first := len(s.path), len(s.entries)
	s.path = append(s.path, step{})
	dst = append(dst, '{')
	begin := len(dst)
	var err error
	for key, item := range m.All() {
		name, differs := s.text(key, true)
		renamed = renamed || differs
		s.path[at].key = name
		from := len(dst)
		dst = append(tree.AppendText(dst, name), ':')
		if dst, err = s.appendField(dst, secret, key, item); err != nil {
			return nil, err
		}
		dst = append(dst, ',')
		s.entries = append(s.entries, entry{name, from, len(dst)})
	}
	if renamed {
		dst = sorted(dst, begin, s.entries[first:])
	}
	s.path, s.entries = s.path[:at], s.entries[:first]
	dst[len(dst)-1] = '}' // in place of the last comma
	return dst, nil
}

// entry is where the JSON of an entry of a map is, with the comma after it.
type entry struct {
	key      string
	from, to int
}

// sorted sorts the entries that follow each other from begin to the end of text. Of several with one key, it keeps the last.
func sorted(text []byte, begin int, entries []entry) []byte {
	before := slices.Clone(text[begin:])
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	text = text[:begin]
	for i, e := range entries {
		if i+1 == len(entries) || entries[i+1].key != e.key {
			text = append(text, before[e.from-begin:e.to-begin]...)
		}
	}
	return text
}

// appendField is append for a field of a map, whose key is the end of the path. secret: the map is a Secret.
func (s *Scrubber) appendField(dst []byte, secret bool, key string, v any) ([]byte, error) {
	if secret && slices.Contains(secretvalues.Fields, key) {
		if values, ok := tree.MapOf(v); ok {
			return tree.AppendJSON(dst, s.data(values, key))
		}
	}
	if text, ok := v.(string); ok {
		if before, found := s.annotation(key, text); found {
			return tree.AppendText(dst, before), nil
		}
	}
	return s.append(dst, v)
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
	if !secretvalues.IsApplied(key) || !strings.Contains(text, `"Secret"`) {
		return "", false
	}
	s.note()
	before := secretvalues.Applied(key, text)
	if before == nil {
		return s.mark(text), true // it cannot be read: nothing of it is shown
	}
	inner := &Scrubber{key: s.key, patterns: s.patterns, plain: s.plain, written: s.written}
	content, _, err := inner.json(before, true)
	if err != nil {
		return s.mark(text), true
	}
	return string(content), true
}

// data returns the values of a Secret, all replaced.
func (s *Scrubber) data(values tree.Map, field string) map[string]any {
	out := map[string]any{}
	for key, item := range values.All() {
		value, encoded := secretvalues.Plain(item, field)
		if value == "" {
			out[key] = item
			continue
		}
		s.path = append(s.path, step{key: key})
		s.note()
		s.path = s.path[:len(s.path)-1]
		mark := s.mark(value)
		if encoded {
			mark = base64.StdEncoding.EncodeToString([]byte(mark))
		}
		out[key] = mark
	}
	return out
}

// isName reports whether the current path is that of the name of an object: there only what looks like a password is replaced, since
// objects are found by their names.
func (s *Scrubber) isName() bool {
	n := len(s.path)
	switch {
	case !s.isObject:
		return false
	case n == 2 && s.path[0].key == "metadata":
		return s.path[1].key == "name" || s.path[1].key == "namespace" || s.path[1].key == "generateName"
	case n == 4 && s.path[0].key == "metadata" && s.path[1].key == "ownerReferences":
		return s.path[3].key == "name"
	}
	return false
}

// isFixed reports whether the current path is that of a text that is not replaced, since the API server made it, or it names an API.
func (s *Scrubber) isFixed() bool {
	n := len(s.path)
	switch {
	case !s.isObject:
		return false
	case n == 1:
		return s.path[0].key == "apiVersion" || s.path[0].key == "kind"
	case n == 2 && s.path[0].key == "metadata":
		return slices.Contains([]string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"}, s.path[1].key)
	case n == 4 && s.path[0].key == "metadata" && s.path[1].key == "ownerReferences":
		return s.path[3].key != "name"
	}
	return false
}
