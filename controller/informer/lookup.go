package informer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/selection"
)

// maxLookups is how many indexes a cache adds for queries. Each index costs time for each event, and users determine the queries.
// With that many indexes, a query that needs another one reads more objects.
const maxLookups = 32

// Select returns the objects that match a query, in no order. The query must not have a selector of namespaces, since the labels
// of namespaces are not in this cache. It reads the objects with a name or with the labels that the query requires, or else
// those in its namespace.
func (i *Informer) Select(q selection.Query) []*object.Object {
	selector := q.Labels
	found := i.candidates(q)
	q.Labels = nil // they are not copied for each object
	return slices.DeleteFunc(found, func(o *object.Object) bool {
		s := &selection.Subject{Namespace: o.GetNamespace(), Name: o.GetName()}
		return !q.Matches(s) || selector != nil && !selector.Matches(object.LabelsOf(o))
	})
}

// SubjectOf returns o as the subject of queries, without the labels of its namespace.
func SubjectOf(o *object.Object) *selection.Subject {
	return &selection.Subject{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels()}
}

// candidates returns objects that include all that match a query.
func (i *Informer) candidates(q selection.Query) []*object.Object {
	if q.Names != nil {
		return i.named(q.Namespace, q.Names)
	}
	if found, ok := i.labeled(lookup{everywhere: q.Namespace == ""}, q.Namespace, q.Labels); ok {
		return found
	}
	if q.Namespace != "" && i.parts().ensure("namespace", namespaceIndex) {
		return i.indexed("namespace", q.Namespace)
	}
	return i.List()
}

// named returns the objects with these names, each once, in a namespace or, if it is "", in all.
func (i *Informer) named(namespace string, names []string) []*object.Object {
	var found []*object.Object
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if namespace == "" && !i.parts().ensure("name", nameIndex) {
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

// WithFinalizer returns the objects that have a finalizer, in no order.
func (i *Informer) WithFinalizer(name string) []*object.Object {
	if i.parts().ensure("finalizer", finalizerIndex) {
		return i.indexed("finalizer", name)
	}
	return slices.DeleteFunc(i.List(), func(o *object.Object) bool { return !slices.Contains(o.GetFinalizers(), name) })
}

// finalizerIndex implements cache.IndexFunc.
func finalizerIndex(obj any) ([]string, error) { return copies(objectOf(obj).GetFinalizers()...), nil }

// Orphans returns the objects without a controller that match a selector, in a namespace or, if it is "", in all; in no order. It
// reads the orphans with the labels that the selector requires.
func (i *Informer) Orphans(namespace string, selector labels.Selector) []*object.Object {
	found, ok := i.labeled(lookup{orphans: true, everywhere: namespace == ""}, namespace, selector)
	if !ok {
		found = i.indexed(byOrphan, orphanValue(namespace))
	}
	return slices.DeleteFunc(found, func(o *object.Object) bool { return !selector.Matches(object.LabelsOf(o)) })
}

// A lookup is an index by the values of labels.
type lookup struct {
	orphans    bool   // of objects without a controller only
	everywhere bool   // the namespace is not part of the values
	keys       string // of the labels, joined by separator
}

// separator separates the parts of names and values of indexes. None of the parts contains it.
const separator = "\x00"

// labeled returns the objects with the labels that selector requires. It returns false if it requires none, or if there are too
// many indexes.
func (i *Informer) labeled(by lookup, namespace string, selector labels.Selector) ([]*object.Object, bool) {
	keys, values := requiredLabels(selector)
	if len(keys) == 0 {
		return nil, false
	}
	by.keys = strings.Join(keys, separator)
	if !i.parts().ensure(by.name(), by.values) {
		return nil, false
	}
	var found []*object.Object
	for _, value := range values {
		if !by.everywhere {
			value = namespace + separator + value
		}
		found = append(found, i.indexed(by.name(), value)...)
	}
	return found, true
}

// requiredLabels returns the keys of the labels for which selector requires a single value, and these values, joined by separator.
// If there are none, it returns one label for which selector requires one of several values, and these values.
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
		return keys, []string{strings.Join(single, separator)}
	case len(required) > 0:
		return []string{required[0].Key}, required[0].Values
	}
	return nil, nil
}

// name returns the name of the index.
func (l lookup) name() string {
	name := "labels"
	if l.orphans {
		name = "labels of orphans"
	}
	if l.everywhere {
		name += " everywhere"
	}
	return name + separator + l.keys
}

// values implements cache.IndexFunc.
func (l lookup) values(obj any) ([]string, error) {
	o := objectOf(obj)
	var value strings.Builder
	if !l.everywhere {
		value.WriteString(o.GetNamespace() + separator)
	}
	for n, key := range strings.Split(l.keys, separator) {
		text, found := o.Label(key)
		if !found {
			return nil, nil
		}
		if n > 0 {
			value.WriteString(separator)
		}
		value.WriteString(text)
	}
	if l.orphans && object.OwnerOf(o) != nil {
		return nil, nil
	}
	return []string{value.String()}, nil
}

// namespaceIndex implements cache.IndexFunc.
func namespaceIndex(obj any) ([]string, error) {
	return copies(objectOf(obj).GetNamespace()), nil
}

// nameIndex implements cache.IndexFunc.
func nameIndex(obj any) ([]string, error) { return copies(objectOf(obj).GetName()), nil }

// ensure adds an index to each part, unless it has one. It returns false if a part has too many indexes, or has stopped.
func (p parts) ensure(name string, index cache.IndexFunc) bool {
	return !slices.ContainsFunc(p, func(s *shared) bool { return !s.ensure(name, index) })
}

// ensure adds an index with this name, unless there is one. It returns false if there are too many indexes, or if the informer has
// stopped.
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
