package redact

import (
	"maps"
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
