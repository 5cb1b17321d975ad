package redact

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"metascript/controller/object"
	"metascript/controller/secretvalues"
	"metascript/engine/tree"
)

// public is the text that users of a parent can write or see. A text is public if it was made of it: as it is or a part of it, in another
// case, escaped, in base64 and hexadecimal digits or decoded from these, in quotes, split, and joined from parts that follow each other with
// anything between them that is no letter and no digit; or joined from two such texts. Therefore only letters and digits are compared, in
// lower case, and all texts of the objects are one.
type public struct {
	mu       sync.Mutex // guards the fields below
	texts    []string
	objects  []*object.Object
	sets     []*object.Set
	children []*object.Set
	owned    []*object.Object                    // children that are in no set
	applied  func(*object.Object) map[string]any // see Redactor.Applied
	made     *publicText                         // of all these; nil: not made yet
	known    map[string]bool                     // what was asked of made
	left     int                                 // how many bytes may still be compared
}

// maxCompared is how many bytes of public texts are compared at most for the texts of one reconcile, which takes less than a second. After that,
// nothing more is public.
const maxCompared = 512 << 20

// add changes what is public.
func (p *public) add(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.made = nil
}

// addAll adds what is public in other.
func (p *public) addAll(other *public) {
	other.mu.Lock()
	texts, objects, sets, children, owned, applied := other.texts, other.objects, other.sets, other.children, other.owned, other.applied
	other.mu.Unlock()
	p.add(func() {
		p.texts, p.objects, p.sets = appendNew(p.texts, texts), appendNew(p.objects, objects), appendNew(p.sets, sets)
		p.children, p.owned = appendNew(p.children, children), appendNew(p.owned, owned)
		if applied != nil {
			p.applied = applied
		}
	})
}

// appendNew appends those of items that are not nil and not in all.
func appendNew[T comparable](all []T, items []T) []T {
	var none T
	for _, item := range items {
		if item != none && !slices.Contains(all, item) {
			all = append(all, item)
		}
	}
	return all
}

// has reports whether a part of a value is public. The part is folded.
func (p *public) has(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made, p.known, p.left = p.text(), map[string]bool{}, maxCompared
	}
	is, found := p.known[part]
	if !found && p.left > 0 {
		p.left -= p.made.size() * (8 + min(len(part), longestJoined)/4)
		is = p.made.hasPart(part)
		p.known[part] = is
	}
	return is
}

// hasPart is has of public.
func (t *publicText) hasPart(part string) bool {
	bare := appendBare(nil, part)
	switch n := len(bare); {
	case n == 0:
		return bytes.Contains(t.folded, []byte(part))
	case len(part) < shortestJoined:
		return t.has(bare) || t.count <= fewTexts && t.joins(bare)
	default:
		return t.hasMost(bare) || (t.count <= fewTexts || n >= longJoined) && t.ends(bare)
	}
}

// Of n texts, n² can be joined of two, so that of many texts most short values can. A part with less than longJoined letters and digits is joined of
// fewTexts only, which most parents have.
const (
	fewTexts   = 256
	longJoined = 8
)

// shortestJoined is the length in bytes of a value from which it can be joined from parts of two texts. A shorter one can be joined from two whole
// texts only: otherwise most short values would be public by chance.
const shortestJoined = 6

// joins reports whether bare is two whole texts.
func (t *publicText) joins(bare []byte) bool {
	for i := 1; i < len(bare); i++ {
		if t.whole[string(bare[:i])] && t.whole[string(bare[i:])] {
			return true
		}
	}
	return false
}

// slack is how many characters at the beginning and at the end of a part need not be public. Beside a public text, a text may have some characters of
// another one, of a constant or of an escape that are by chance those of the value.
const slack = 2

// hasMost reports whether bare is a part of a public text, but for slack characters at its ends.
func (t *publicText) hasMost(bare []byte) bool {
	for skip := range slack + 1 {
		for cut := range slack + 1 {
			if n := len(bare) - skip - cut; n >= len(bare)-len(bare)/6 && n > 0 && t.has(bare[skip:len(bare)-cut]) {
				return true
			}
		}
	}
	return false
}

// longestJoined is the maximum number of letters and digits of a part that is joined from two texts.
const longestJoined = 256

// ends reports whether bare is the end of one text and the beginning of another one.
func (t *publicText) ends(bare []byte) bool {
	if len(bare) > longestJoined {
		return false
	}
	first, second := make([]byte, 0, len(bare)+1), make([]byte, 0, len(bare)+1)
	for i := 1; i < len(bare); i++ {
		first = append(append(first[:0], bare[:i]...), '\n')
		second = append(append(second[:0], '\n'), bare[i:]...)
		if bytes.Contains(t.apart, first) && bytes.Contains(t.apart, second) {
			return true
		}
	}
	return false
}

// text returns the public text. The caller has locked mu.
func (p *public) text() *publicText {
	t := &publicText{left: maxDecoded, whole: map[string]bool{}, apart: []byte{'\n'}}
	for _, text := range p.texts {
		t.value(text)
	}
	for _, o := range p.objects {
		t.object(o)
	}
	if t.left >= len(t.joined) {
		t.decode(string(t.joined)) // a script may join the parts of what it decodes
	}
	for _, set := range p.sets {
		for o := range set.All() {
			t.object(o)
			t.status(o)
		}
	}
	for _, set := range p.children {
		for o := range set.All() {
			t.child(o, p.applied)
		}
	}
	for _, o := range p.owned {
		t.child(o, p.applied)
	}
	return t
}

// A publicText is the text of public objects. The letters and digits are those of all values, of all keys, of both in their order, and of
// what is decoded from them.
type publicText struct {
	folded                     []byte
	values, keys, all, decoded []byte
	joined                     []byte          // all values as they are
	apart                      []byte          // the letters and digits of each text, after a line break
	whole                      map[string]bool // the short texts
	count                      int             // of texts
	left                       int             // how many bytes may still be decoded
}

// maxDecoded is how many bytes of public texts are decoded: more than the parent can have, which is the first. This costs much more than the rest.
const maxDecoded = 4 << 20

func (t *publicText) size() int {
	return len(t.folded) + len(t.values) + len(t.keys) + len(t.all) + len(t.decoded) + len(t.apart)
}

func (t *publicText) has(bare []byte) bool {
	return bytes.Contains(t.values, bare) || bytes.Contains(t.all, bare) || bytes.Contains(t.keys, bare) || bytes.Contains(t.decoded, bare)
}

// metadata are the fields of metadata that a user can write.
var metadata = []string{"name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"}

// object adds an object without its status, which a controller writes. Of a Secret, only metadata is added.
func (t *publicText) object(o *object.Object) {
	t.metadata(o)
	content, _ := tree.MapOf(o.Value())
	if content == nil || secretvalues.Is(o) {
		return
	}
	for key, value := range content.All() {
		if key != "metadata" && key != "status" {
			t.key(key)
			t.any(value)
		}
	}
}

// status adds the status of an object that no hook of this controller writes, and everybody may write who may write the object if it has no status
// subresource.
func (t *publicText) status(o *object.Object) {
	if status, found := o.At("status"); found && !secretvalues.Is(o) {
		t.any(status)
	}
}

// metadata adds the fields of metadata that users write, but not the annotations with an earlier state. What the API server makes is left out, such as
// times: it has many digits.
func (t *publicText) metadata(o *object.Object) {
	for _, field := range metadata {
		v, _ := o.At("metadata", field)
		texts, isMap := tree.MapOf(v)
		if !isMap {
			t.any(v)
			continue
		}
		for key, text := range texts.All() {
			if !secretvalues.IsApplied(key) {
				t.key(key)
				t.any(text)
			}
		}
	}
}

// ourPrefix begins the annotations of this server.
const ourPrefix = "metacontroller.k8s.io/"

// child adds a child. The hook may have written values of Secrets into it, also as its name, and who reads a text about the parent may not read
// the child. So only what somebody else has written into it is added. If it is not known what a controller has applied, as in a child that is too
// large for the annotation that says it, that is nothing.
func (t *publicText) child(o *object.Object, appliedTo func(*object.Object) map[string]any) {
	content, _ := tree.MapOf(o.Value())
	if content == nil || secretvalues.Is(o) {
		return
	}
	applied, known := "", false
	for key, text := range o.GetAnnotations() {
		if secretvalues.IsApplied(key) {
			applied += text
			known = known || strings.HasPrefix(key, ourPrefix)
		}
	}
	if appliedTo != nil {
		if content := appliedTo(o); content != nil {
			text, _ := tree.AppendJSON(nil, content) // it is JSON
			applied, known = applied+string(text), true
		}
	}
	if !known {
		return
	}
	for key, value := range content.All() {
		if key != "metadata" && key != "status" {
			t.others(value, applied)
		}
	}
}

// others adds the texts in a value that are not in applied.
func (t *publicText) others(v any, applied string) {
	if m, ok := tree.MapOf(v); ok {
		for key, value := range m.All() {
			t.others(key, applied)
			t.others(value, applied)
		}
		return
	}
	if list, ok := tree.ArrayOf(v); ok {
		for i := range list.Len() {
			t.others(list.Index(i), applied)
		}
		return
	}
	if text, err := tree.AppendJSON(nil, v); err == nil && !strings.Contains(applied, string(text)) {
		t.any(v)
	}
}

// any adds a JSON value.
func (t *publicText) any(v any) {
	if m, ok := tree.MapOf(v); ok {
		for key, value := range m.All() {
			t.key(key)
			t.any(value)
		}
		return
	}
	if list, ok := tree.ArrayOf(v); ok {
		for i := range list.Len() {
			t.any(list.Index(i))
		}
		return
	}
	switch v := v.(type) {
	case nil:
	case string:
		t.value(v)
	default:
		if text, err := tree.AppendJSON(nil, v); err == nil {
			t.value(string(text))
		}
	}
}

func (t *publicText) key(key string) {
	t.keys, t.all = appendBare(t.keys, key), appendBare(t.all, key)
	t.add(key)
}

func (t *publicText) value(text string) {
	t.values, t.all = appendBare(t.values, text), appendBare(t.all, text)
	t.joined = append(t.joined, text...)
	t.add(text)
}

func (t *publicText) add(text string) {
	t.count++
	t.folded = append(append(t.folded, secretvalues.Fold(text)...), '\n')
	bare := appendBare(nil, text)
	if t.apart = append(append(t.apart, bare...), '\n'); len(bare) < shortestJoined {
		t.whole[string(bare)] = true
	}
	if t.left -= len(text); t.left >= 0 {
		t.decode(text)
	}
}

// decode adds what is decoded from a text.
func (t *publicText) decode(text string) {
	for decoded := range secretvalues.Decoded(text) {
		t.folded = append(append(t.folded, decoded...), '\n')
		bare := appendBare(nil, string(decoded))
		t.decoded, t.apart = append(append(t.decoded, bare...), '\n'), append(append(t.apart, bare...), '\n')
	}
}

// appendBare appends the letters and digits of a text, in lower case.
func appendBare(dst []byte, text string) []byte {
	for _, c := range []byte(secretvalues.Fold(text)) {
		if isWord(c) {
			dst = append(dst, c)
		}
	}
	return dst
}
