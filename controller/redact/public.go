package redact

import (
	"bytes"
	"index/suffixarray"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

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
	texts    unique[string]
	objects  unique[*object.Object]
	sets     unique[*object.Set]
	children unique[*object.Set]
	owned    unique[*object.Object] // children that are in no set
	origin   Origin                 // nil: nothing is known
	made     *publicText            // of all these; nil: not made yet
	known    map[string]bool        // what was asked of made
}

// An Origin says who has written objects.
type Origin interface {
	// Applied returns what a controller has applied to a child by server-side apply; nil if it applied nothing, or if that is not known.
	// Objects in caches have no managedFields.
	Applied(child *object.Object) map[string]any
	// ParentOf returns the parent, of this kind, whose child an object is; nil if it is none.
	ParentOf(o *object.Object) *object.Object
	// HasStatus reports whether the status of a kind can be written by itself only, which most users may not. It is true if that is not known.
	HasStatus(kind object.Kind) bool
}

// A unique is a list in which each item is once.
type unique[T comparable] struct {
	list []T
	seen map[T]bool
}

// add adds those of items that are not nil and not in u. It returns these.
func (u *unique[T]) add(items []T) (added []T) {
	var none T
	for _, item := range items {
		if item == none || u.seen[item] {
			continue
		}
		if u.seen == nil {
			u.seen = map[T]bool{}
		}
		u.seen[item] = true
		u.list, added = append(u.list, item), append(added, item)
	}
	return added
}

// addTo adds those of items that are not there yet to one of the lists of p.
func addTo[T comparable](p *public, u *unique[T], items []T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(u.add(items)) > 0 {
		p.made = nil
	}
}

// addTexts adds texts that are public. What was made stays: a reconcile may add one for each of its writes.
func (p *public) addTexts(texts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := p.texts.add(texts)
	if p.made == nil || len(added) == 0 {
		return
	}
	p.made.left = unlimited
	for _, text := range added {
		p.made.value(text)
	}
	p.made.decodeParent()
	maps.DeleteFunc(p.known, func(_ string, is bool) bool { return !is })
}

func (p *public) setOrigin(o Origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.origin, p.made = o, nil
}

// addAll adds what is public in other.
func (p *public) addAll(other *public) {
	other.mu.Lock()
	texts, objects, sets, children, owned := other.texts.list, other.objects.list, other.sets.list, other.children.list, other.owned.list
	other.mu.Unlock()
	p.addTexts(texts)
	addTo(p, &p.objects, objects)
	addTo(p, &p.sets, sets)
	addTo(p, &p.children, children)
	addTo(p, &p.owned, owned)
}

// has reports whether a part of a value is public. The part is folded.
func (p *public) has(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made, p.known = p.text(), map[string]bool{}
	}
	is, found := p.known[part]
	if !found {
		is = p.made.hasPart(part)
		p.known[part] = is
	}
	return is
}

// hasPart is has of public.
func (t *publicText) hasPart(part string) bool {
	bare, between := divided(nil, nil, part)
	switch n := len(bare); {
	case n == 0:
		return bytes.Contains(t.between, between)
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

// hasMost reports whether bare is a part of a public text, but for slack characters at its ends, and no more than a sixth.
func (t *publicText) hasMost(bare []byte) bool {
	most := min(len(bare)/6, 2*slack)
	for skip := max(0, most-slack); skip <= min(most, slack); skip++ { // with fewer, more of it would have to be public
		if t.has(bare[skip : len(bare)-(most-skip)]) {
			return true
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
	if t.makeIndex(); t.index != nil {
		for i := 1; i < len(bare); i++ {
			if t.contains(append(slices.Clone(bare[:i]), '\n'), apart) && t.contains(append([]byte{'\n'}, bare[i:]...), apart) {
				return true
			}
		}
		return false
	}
	t.compared += endsCost * len(t.bare[apart])
	first, second := endsOfLines(bare, t.bare[apart], false), endsOfLines(bare, t.bare[apart], true)
	for i := 1; i < len(bare); i++ {
		if first[i] && second[len(bare)-i] {
			return true
		}
	}
	return false
}

// endsOfLines returns for each n whether a line of text ends with the first n bytes of part, or, in reverse, begins with the last n. There is a line
// break before and after each line. The algorithm is that of Knuth, Morris and Pratt: "Fast Pattern Matching in Strings", SIAM Journal on Computing 6
// (1977).
func endsOfLines(part, text []byte, reverse bool) []bool {
	at, step := 0, 1
	if reverse {
		part, at, step = slices.Clone(part), len(text)-1, -1
		slices.Reverse(part)
	}
	shorter := make([]int, len(part)+1) // for each n, the longest beginning of part with which its first n bytes end
	for i, n := 1, 0; i < len(part); i++ {
		for n > 0 && part[n] != part[i] {
			n = shorter[n]
		}
		if part[n] == part[i] {
			n++
		}
		shorter[i+1] = n
	}
	ends, n := make([]bool, len(part)+1), 0
	for ; at >= 0 && at < len(text); at += step {
		c := text[at]
		if c == '\n' {
			for ; n > 0 && !ends[n]; n = shorter[n] {
				ends[n] = true
			}
			n = 0
			continue
		}
		for n > 0 && (n == len(part) || part[n] != c) {
			n = shorter[n]
		}
		if part[n] == c {
			n++
		}
	}
	return ends
}

// text returns the public text. The caller has locked mu.
func (p *public) text() *publicText {
	t := &publicText{left: unlimited, whole: map[string]bool{}, bare: [4][]byte{apart: {'\n'}}}
	for _, text := range p.texts.list {
		t.value(text)
	}
	for _, o := range p.objects.list {
		addObject(t, o)
	}
	t.decodeParent()
	seen := map[types.UID]bool{} // children, and parents of related objects
	child := func(o *object.Object) {
		if uid := o.GetUID(); uid != "" {
			seen[uid] = true
		}
		t.child(o, p.origin)
	}
	for _, set := range p.children.list {
		for o := range set.All() {
			if child(o); t.size() > largest {
				return t
			}
		}
	}
	for _, o := range p.owned.list {
		if child(o); t.size() > largest {
			return t
		}
	}
	for _, set := range p.sets.list {
		for o := range set.All() {
			if seen[o.GetUID()] {
				continue
			}
			if t.related(o, p.origin, seen); t.size() > largest {
				return t
			}
		}
	}
	return t
}

// A publicText is the text of public objects. The letters and digits are those of all values, of all keys, of both in their order, and of
// each text, also those that are decoded from them.
type publicText struct {
	between []byte          // the texts, with one letter in place of each run of letters and digits
	parent  []string        // the texts of the parent that are not decoded yet
	joined  []byte          // its values, one after the other
	bare    [4][]byte       // letters and digits
	whole   map[string]bool // the short texts
	count   int             // of texts

	left int // how many bytes may still be decoded; unlimited while the parent is added

	compared int                // how many bytes were compared
	index    *suffixarray.Index // of the first bytes of each of bare, as indexed says; nil: not made
	indexed  [4]int
}

// What is in publicText.bare.
const (
	values = iota // of all values
	keys          // of all keys
	all           // of both in their order
	apart         // of each text, and of what is decoded from it, after a line break
)

// maxDecoded is how many bytes of children and related objects are decoded, and of what is decoded from them. All of the parent is decoded, and what is
// decoded from it too if the parent has at most twice bytes. What is decoded does not depend on anything but sizes.
const (
	maxDecoded = 4 << 20
	unlimited  = math.MaxInt
	twice      = 64 << 10
)

// largest is the size of public texts after which no more children and related objects are added. A parent is always added, with all that is decoded
// from it. indexCost is how many bytes can be compared in the time in which an index of one byte is made. How much is compared has no limit that
// depends on how much was found: what is replaced would tell. endsCost is the time of the search for both ends of a part, in comparisons.
const (
	largest   = 8 << 20
	indexCost = 32
	endsCost  = 8
)

func (t *publicText) size() (n int) {
	for _, text := range t.bare {
		n += len(text)
	}
	return n
}

func (t *publicText) has(bare []byte) bool { return t.contains(bare, values, all, keys, apart) }

// contains reports whether one of the texts in bare has a part. Only one that is apart has line breaks before or after letters that others do not
// have, so the index need not know which of them has it.
func (t *publicText) contains(part []byte, in ...int) bool {
	if t.makeIndex(); t.index != nil && len(t.index.Lookup(part, 1)) > 0 {
		return true
	}
	for _, i := range in {
		text := t.bare[i][max(0, t.indexed[i]-len(part)):]
		if t.compared += len(text); bytes.Contains(text, part) {
			return true
		}
	}
	return false
}

// makeIndex makes the index if so much was compared that it would have cost no more.
func (t *publicText) makeIndex() {
	if t.index != nil || t.compared <= indexCost*t.size() {
		return
	}
	t.index = suffixarray.New(bytes.Join(t.bare[:], []byte{0}))
	for i, text := range t.bare {
		t.indexed[i] = len(text)
	}
}

// metadata are the fields of metadata that a user can write.
var metadata = []string{"name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"}

// A sink gets texts.
type sink interface {
	key(text string)
	value(text string)
}

// A list is a sink that appends the texts to a list.
type list []string

func (l *list) key(text string)   { *l = append(*l, text) }
func (l *list) value(text string) { *l = append(*l, text) }

// PublicTexts returns the keys and values of an object that are public if the object is; see AddPublic. An object that does not change in them
// may have changed in its status or its resourceVersion.
func PublicTexts(o *object.Object) []string {
	var texts list
	addObject(&texts, o)
	return texts
}

// addObject adds an object without its status, which a controller writes. Of a Secret, only metadata is added.
func addObject(to sink, o *object.Object) {
	addMetadata(to, o)
	content, _ := tree.MapOf(o.Value())
	if content == nil || secretvalues.Is(o) {
		return
	}
	for key, value := range content.All() {
		if key != "metadata" && key != "status" {
			to.key(key)
			addAny(to, value)
		}
	}
}

// related adds a related object. One that is the child of another parent is like a child of this one, and that parent like this one. The status may be
// that of another parent, which a hook has written; it is added only if everybody writes it who writes the object. seen has the parents that were
// added.
func (t *publicText) related(o *object.Object, origin Origin, seen map[types.UID]bool) {
	if origin != nil {
		if parent := origin.ParentOf(o); parent != nil {
			if !seen[parent.GetUID()] {
				seen[parent.GetUID()] = true
				addObject(t, parent)
			}
			t.child(o, origin)
			return
		}
	}
	addObject(t, o)
	if origin == nil || origin.HasStatus(o.GroupVersionKind()) || secretvalues.Is(o) {
		return
	}
	if status, found := o.At("status"); found {
		addAny(t, status)
	}
}

// addMetadata adds the fields of metadata that users write, but not the annotations with an earlier state. What the API server makes is left out, such as
// times: it has many digits.
func addMetadata(to sink, o *object.Object) {
	for _, field := range metadata {
		v, _ := o.At("metadata", field)
		texts, isMap := tree.MapOf(v)
		if !isMap {
			addAny(to, v)
			continue
		}
		for key, text := range texts.All() {
			if !secretvalues.IsApplied(key) {
				to.key(key)
				addAny(to, text)
			}
		}
	}
}

// ourPrefix begins the annotations of this server.
const ourPrefix = "metacontroller.k8s.io/"

// child adds a child. The hook may have written values of Secrets into it, also as its name, and who reads a text about the parent may not read
// the child. So only what somebody else has written into it is added. If it is not known what a controller has applied, as in a child that is too
// large for the annotation that says it, that is nothing.
func (t *publicText) child(o *object.Object, origin Origin) {
	content, _ := tree.MapOf(o.Value())
	if content == nil || secretvalues.Is(o) {
		return
	}
	applied, known := appliedIn(o)
	if origin != nil {
		if content := origin.Applied(o); content != nil {
			addAny(&applied, content)
			known = true
		}
	}
	if !known {
		return
	}
	written := secretvalues.NewReference(strings.Join(applied, "\n"))
	for _, field := range []string{"labels", "annotations"} {
		v, _ := o.At("metadata", field)
		texts, _ := tree.MapOf(v)
		if texts == nil {
			continue
		}
		for key, text := range texts.All() {
			if !secretvalues.IsApplied(key) {
				t.others(key, written)
				t.others(text, written)
			}
		}
	}
	for key, value := range content.All() {
		if key != "metadata" && key != "status" {
			t.others(value, written)
		}
	}
}

// appliedIn returns the texts in what the annotations of an object say was applied to it, and whether a controller has applied it.
func appliedIn(o *object.Object) (applied list, ours bool) {
	for key, text := range o.GetAnnotations() {
		if !secretvalues.IsApplied(key) {
			continue
		}
		if content := secretvalues.Applied(key, text); content != nil {
			addAny(&applied, content)
			ours = ours || strings.HasPrefix(key, ourPrefix)
		} else {
			applied = append(applied, text)
		}
	}
	return applied, ours
}

// others adds the texts in a value that share no part with what was applied: what somebody has stored may be what was applied, in another form.
func (t *publicText) others(v any, applied *secretvalues.Reference) {
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
	text, isText := v.(string)
	if !isText {
		encoded, err := tree.AppendJSON(nil, v)
		if text = string(encoded); err != nil {
			return
		}
	}
	if !applied.Shares(text) {
		addAny(t, v)
	}
}

// addAny adds a JSON value.
func addAny(to sink, v any) {
	if m, ok := tree.MapOf(v); ok {
		for key, value := range m.All() {
			to.key(key)
			addAny(to, value)
		}
		return
	}
	if list, ok := tree.ArrayOf(v); ok {
		for i := range list.Len() {
			addAny(to, list.Index(i))
		}
		return
	}
	switch v := v.(type) {
	case nil:
	case string:
		to.value(v)
	default:
		if text, err := tree.AppendJSON(nil, v); err == nil {
			to.value(string(text))
		}
	}
}

func (t *publicText) key(key string) {
	bare := t.add(key)
	t.bare[keys], t.bare[all] = append(t.bare[keys], bare...), append(t.bare[all], bare...)
}

func (t *publicText) value(text string) {
	if t.left == unlimited {
		t.joined = append(t.joined, text...)
	}
	bare := t.add(text)
	t.bare[values], t.bare[all] = append(t.bare[values], bare...), append(t.bare[all], bare...)
}

// add adds a text, and what is decoded from it, if it is not of the parent. It returns its letters and digits.
func (t *publicText) add(text string) []byte {
	t.count++
	from := len(t.bare[apart])
	t.addLine(text)
	bare := t.bare[apart][from : len(t.bare[apart])-1]
	if len(bare) < shortestJoined {
		t.whole[string(bare)] = true
	}
	if t.left == unlimited {
		t.parent = append(t.parent, text)
	} else if t.left -= len(text); t.left >= 0 {
		for plain := range secretvalues.Decoded(text, false) {
			if t.left -= len(plain); t.left < 0 {
				break
			}
			t.addLine(string(plain))
		}
	}
	return bare
}

// decodeParent adds what is decoded from the texts of the parent, and from all of its values together: a script may join the parts of what it decodes.
// What is added next is not of the parent.
func (t *publicText) decodeParent() {
	size := 0
	for _, text := range t.parent {
		size += len(text)
	}
	once, together := size > twice, secretvalues.Decoded(string(t.joined), false)
	if once {
		together = secretvalues.DecodedDigits(string(t.joined))
	}
	for _, text := range t.parent {
		for plain := range secretvalues.Decoded(text, once) {
			t.addLine(string(plain))
		}
	}
	for plain := range together {
		t.addLine(string(plain))
	}
	t.left, t.parent, t.joined = maxDecoded, nil, nil
}

// addLine adds a text as a line of its own.
func (t *publicText) addLine(text string) {
	bare, between := divided(t.bare[apart], t.between, text)
	t.bare[apart], t.between = append(bare, '\n'), append(between, '\n')
}

// divided appends the letters and digits of a text, in lower case, to bare, and the text with one letter in place of each run of these to between.
func divided(bare, between []byte, text string) (newBare, newBetween []byte) {
	word := false
	for _, c := range []byte(secretvalues.Fold(text)) {
		is := isWord(c)
		if is {
			bare = append(bare, c)
		}
		if !is || !word {
			between = append(between, 'a')
		}
		if word = is; !is {
			between[len(between)-1] = c
		}
	}
	return bare, between
}
