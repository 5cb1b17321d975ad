package redact

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	made     *publicText     // of all these; nil: not made yet
	known    map[string]bool // what was asked of made
	left     int             // how many bytes may still be compared
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

// shortestPiece is the number of letters and digits of a public text from which it can be joined with another one. With shorter ones, all
// short texts would be public.
const shortestPiece = 3

// has reports whether a part of a value is public. The part is folded.
func (p *public) has(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made, p.known, p.left = p.text(), map[string]bool{}, maxCompared
	}
	is, found := p.known[part]
	if !found && p.left > 0 {
		p.left -= p.made.size() * bits.Len(uint(len(part)))
		is = p.made.hasPart(part)
		p.known[part] = is
	}
	return is
}

// hasPart is has of public.
func (t *publicText) hasPart(part string) bool {
	bare := appendBare(nil, part)
	if len(bare) == 0 {
		return bytes.Contains(t.folded, []byte(part))
	}
	piece := shortestPiece
	switch {
	case len(part) < 2*shortestPiece:
		return t.has(bare)
	case len(bare) < secretvalues.Part && len(part) >= secretvalues.Part:
		piece = max(1, len(bare)-2*shortestPiece+1) // much of it is neither a letter nor a digit
	}
	// The longest beginning that is public, and the rest: each part of a public text is public too. A value may have some characters of the
	// other one of two texts that are joined.
	begin := sort.Search(len(bare), func(n int) bool { return !t.has(bare[:n+1]) })
	if begin < piece {
		return len(bare) > 2*shortestPiece+piece && t.has(bare[piece-1:])
	}
	return len(bare)-begin < piece && begin >= 2*shortestPiece || t.has(bare[min(begin, len(bare)-piece):])
}

// text returns the public text. The caller has locked mu.
func (p *public) text() *publicText {
	t := &publicText{left: maxDecoded}
	for _, text := range p.texts {
		t.value(text)
	}
	for _, o := range p.objects {
		t.object(o)
	}
	for _, set := range p.sets {
		for o := range set.All() {
			t.object(o)
		}
	}
	for _, set := range p.children {
		for o := range set.All() {
			t.child(o)
		}
	}
	return t
}

// A publicText is the text of public objects. The letters and digits are those of all values, of all keys, of both in their order, and of
// what is decoded from them.
type publicText struct {
	folded                     []byte
	values, keys, all, decoded []byte
	left                       int // how many bytes may still be decoded
}

// maxDecoded is how many bytes of public texts are decoded: this costs much more than the rest, and the objects can be large.
const maxDecoded = 256 << 10

func (t *publicText) size() int {
	return len(t.folded) + len(t.values) + len(t.keys) + len(t.all) + len(t.decoded)
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

// child adds a child. The hook may have written values of Secrets into it, also as its name, and who reads a text about the parent may not read
// the child. So of what a controller has applied, only what somebody else has written into it is added, if that is known.
func (t *publicText) child(o *object.Object) {
	applied := ""
	for key, text := range o.GetAnnotations() {
		if secretvalues.IsApplied(key) {
			applied += text
		}
	}
	content, _ := tree.MapOf(o.Value())
	switch {
	case content == nil || applied == "" && isApplied(o):
	case applied == "":
		t.object(o)
	case !secretvalues.Is(o):
		for key, value := range content.All() {
			if key != "metadata" && key != "status" {
				t.others(value, applied)
			}
		}
	}
}

// isApplied reports whether a controller has written an object by server-side apply.
func isApplied(o *object.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(entry.Manager, "metacontroller")
	})
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
	t.add(text)
}

func (t *publicText) add(text string) {
	t.folded = append(append(t.folded, secretvalues.Fold(text)...), '\n')
	if t.left -= len(text); t.left < 0 {
		return
	}
	first := true
	for reading := range secretvalues.Readings(text) {
		if first {
			first = false // it is the text itself
			continue
		}
		t.folded = append(append(t.folded, reading.Text...), '\n')
		t.decoded = append(appendBare(t.decoded, string(reading.Text)), '\n')
	}
}

// appendBare appends the letters and digits of a text, in lower case.
func appendBare(dst []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case isWord(c):
			dst = append(dst, c)
		}
	}
	return dst
}
