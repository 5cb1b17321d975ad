package informer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/selection"
)

// maxLookups is how many indexes a cache makes because of what is asked. Each is kept up to date with every object, and
// who asks may be anybody: beyond that many, questions of another form go through more objects than they need to.
const maxLookups = 32

// Select gives the objects that match a query, in no order. The query has no selector of namespaces, whose labels are
// not in this cache. What is looked at are the objects that have the name or the labels that the query requires, or else
// those of its namespace.
func (i *Informer) Select(q selection.Query) []*object.Object {
	return slices.DeleteFunc(i.candidates(q), func(o *object.Object) bool { return !q.Matches(SubjectOf(o)) })
}

// SubjectOf is o as queries see it, without the labels of its namespace.
func SubjectOf(o *object.Object) *selection.Subject {
	return &selection.Subject{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels()}
}

func (i *Informer) candidates(q selection.Query) []*object.Object {
	if q.Names != nil {
		return i.named(q.Namespace, q.Names)
	}
	if found, ok := i.labelled(lookup{everywhere: q.Namespace == ""}, q.Namespace, q.Labels); ok {
		return found
	}
	if q.Namespace != "" && i.shared.ensure("namespace", namespaceIndex) {
		return i.indexed("namespace", q.Namespace)
	}
	return i.List()
}

// named gives the objects of these names, each once. Without a namespace they may be in any, or in none.
func (i *Informer) named(namespace string, names []string) []*object.Object {
	var found []*object.Object
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if namespace == "" && !i.shared.ensure("name", nameIndex) {
		return i.List()
	}
	for _, name := range names {
		if namespace == "" {
			found = append(found, i.indexed("name", name)...)
		} else if o := i.Get(object.Key{Namespace: namespace, Name: name}); o != nil {
			found = append(found, o)
		}
	}
	return found
}

// WithFinalizer gives the objects that have a finalizer, in no order.
func (i *Informer) WithFinalizer(name string) []*object.Object {
	if i.shared.ensure("finalizer", finalizerIndex) {
		return i.indexed("finalizer", name)
	}
	return slices.DeleteFunc(i.List(), func(o *object.Object) bool { return !slices.Contains(o.GetFinalizers(), name) })
}

func finalizerIndex(obj any) ([]string, error) { return obj.(*object.Object).GetFinalizers(), nil }

// Orphans gives the objects in a namespace, or in all when it is "", that have no controller and match a selector, in no
// order. What is looked at are the orphans that have the labels that the selector requires.
func (i *Informer) Orphans(namespace string, selector labels.Selector) []*object.Object {
	found, ok := i.labelled(lookup{orphans: true, everywhere: namespace == ""}, namespace, selector)
	if !ok {
		found = i.indexed(byOrphan, orphanage(namespace))
	}
	return slices.DeleteFunc(found, func(o *object.Object) bool { return !selector.Matches(labels.Set(o.GetLabels())) })
}

// A lookup is an index by the values of labels.
type lookup struct {
	orphans    bool   // of objects without a controller only
	everywhere bool   // whatever their namespace
	keys       string // of the labels, joined
}

// between stands between the parts of names and values of indexes. Nothing that is joined contains it.
const between = "\x00"

// labelled gives the objects that have the labels that selector requires; false when it requires none, or there are too
// many indexes already.
func (i *Informer) labelled(by lookup, namespace string, selector labels.Selector) ([]*object.Object, bool) {
	keys, values := requiredLabels(selector)
	if len(keys) == 0 {
		return nil, false
	}
	by.keys = strings.Join(keys, between)
	if !i.shared.ensure(by.name(), by.values) {
		return nil, false
	}
	var found []*object.Object
	for _, value := range values {
		if !by.everywhere {
			value = namespace + between + value
		}
		found = append(found, i.indexed(by.name(), value)...)
	}
	return found, true
}

// requiredLabels gives the keys of the labels that must have one value each, and these values, joined. When there are no
// such labels, it is one of those that must have one of several values, and all of these.
func requiredLabels(selector labels.Selector) (keys, values []string) {
	required := slices.DeleteFunc(selection.Required(selector), func(r selection.Requirement) bool { return r.Values == nil })
	var single []string
	for _, r := range required {
		if len(r.Values) == 1 {
			keys, single = append(keys, r.Key), append(single, r.Values[0])
		}
	}
	switch {
	case len(keys) > 0:
		return keys, []string{strings.Join(single, between)}
	case len(required) > 0:
		return []string{required[0].Key}, required[0].Values
	}
	return nil, nil
}

func (l lookup) name() string {
	name := "labels"
	if l.orphans {
		name = "labels of orphans"
	}
	if l.everywhere {
		name += " everywhere"
	}
	return name + between + l.keys
}

// values implements cache.IndexFunc.
func (l lookup) values(obj any) ([]string, error) {
	o := obj.(*object.Object)
	var value strings.Builder
	if !l.everywhere {
		value.WriteString(o.GetNamespace() + between)
	}
	for n, key := range strings.Split(l.keys, between) {
		text, found := labelOf(o, key)
		if !found {
			return nil, nil
		}
		if n > 0 {
			value.WriteString(between)
		}
		value.WriteString(text)
	}
	if l.orphans && object.ControllerOf(o) != nil {
		return nil, nil
	}
	return []string{value.String()}, nil
}

// labelOf is one label of o, without copying all of them.
func labelOf(o *object.Object, key string) (string, bool) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	all, _ := metadata["labels"].(map[string]any)
	value, ok := all[key].(string)
	return value, ok
}

func namespaceIndex(obj any) ([]string, error) {
	return []string{obj.(*object.Object).GetNamespace()}, nil
}

func nameIndex(obj any) ([]string, error) { return []string{obj.(*object.Object).GetName()}, nil }

// ensure makes an index of what is there and of what will come, unless there is one of that name; it reports whether
// there is one now.
func (s *shared) ensure(name string, index cache.IndexFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lookups[name] {
		return true
	}
	if len(s.lookups) >= maxLookups || s.AddIndexers(cache.Indexers{name: index}) != nil {
		return false
	}
	s.lookups[name] = true
	return true
}
