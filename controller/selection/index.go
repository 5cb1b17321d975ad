package selection

import (
	"slices"
	"strings"
	"sync"
)

// An Index has the queries of many members, and finds the members with a query that matches an object. The zero value is
// empty. It is safe for concurrent use.
//
// Each query is in one or more buckets. A bucket is for a feature that an object must have to match: a name, a label or
// annotation with a value or with any, a label of its namespace, or only a namespace. If there is a choice, as between two
// required labels, the query is put into the buckets with the fewest queries, so that a label that all queries require fills
// no bucket. For an object, only the queries in the buckets for its features are compared with it.
type Index[K comparable] struct {
	mu      sync.RWMutex // guards the fields below; no other lock is taken while it is locked
	queries map[K][]*standing[K]
	buckets map[bucket][]*standing[K]
}

// A standing is a query and the buckets that it is in.
type standing[K comparable] struct {
	who   K
	query Query
	in    []bucket
}

// A bucket is for queries for objects with a feature. Namespace is "" for queries for any namespace.
type bucket struct {
	what                  feature
	namespace, key, value string
}

// A feature is what a bucket is for.
type feature uint8

const (
	anything feature = iota
	name             // in value
	label            // in key and value; the next two likewise
	namespaceLabel
	annotation
	has // added to one of the three above: in key, with any value
)

// Set replaces the queries of a member. Without queries, the member is removed.
func (x *Index[K]) Set(who K, queries ...Query) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.queries[who] {
		x.remove(s)
	}
	delete(x.queries, who)
	if len(queries) == 0 {
		return
	}
	if x.queries == nil {
		x.queries, x.buckets = map[K][]*standing[K]{}, map[bucket][]*standing[K]{}
	}
	for _, q := range queries {
		s := &standing[K]{who, q, x.place(&q)}
		x.queries[who] = append(x.queries[who], s)
		for _, b := range s.in {
			x.buckets[b] = append(x.buckets[b], s)
		}
	}
}

// Len returns the number of members.
func (x *Index[K]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.queries)
}

// All returns the members, in no order.
func (x *Index[K]) All() []K {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := make([]K, 0, len(x.queries))
	for who := range x.queries {
		all = append(all, who)
	}
	return all
}

// Matching returns the members with a query that matches s, each once, in no order.
func (x *Index[K]) Matching(s *Subject) []K {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.queries) == 0 {
		return nil
	}
	var found []K
	seen := map[K]bool{}
	look := func(b bucket) {
		for _, candidate := range x.buckets[b] {
			if !seen[candidate.who] && candidate.query.Matches(s) {
				seen[candidate.who] = true
				found = append(found, candidate.who)
			}
		}
	}
	look(bucket{})
	features(s, "", look)
	if s.Namespace != "" {
		look(bucket{namespace: s.Namespace})
		features(s, s.Namespace, look)
	}
	return found
}

// features calls look with each bucket for a feature of s, in a namespace, or in any if it is "".
func features(s *Subject, namespace string, look func(bucket)) {
	look(bucket{name, namespace, "", s.Name})
	for n, all := range [...]map[string]string{s.Labels, s.NamespaceLabels, s.Annotations} {
		what := label + feature(n)
		for key, value := range all {
			look(bucket{what, namespace, key, value})
			look(bucket{what + has, namespace, key, ""})
		}
	}
}

// place returns the buckets for a query: each object that matches it has the feature of one of them.
func (x *Index[K]) place(q *Query) []bucket {
	if q.Names != nil {
		in := make([]bucket, 0, len(q.Names))
		for _, n := range q.Names {
			in = append(in, bucket{name, q.Namespace, "", n})
		}
		slices.SortFunc(in, func(a, b bucket) int { return strings.Compare(a.value, b.value) })
		return slices.Compact(in)
	}
	best, least := []bucket{{namespace: q.Namespace}}, -1
	choose := func(what feature, required []Requirement) {
		for _, r := range required {
			in, size := x.bucketsOf(what, q.Namespace, r)
			if least < 0 || size < least {
				best, least = in, size
			}
		}
	}
	choose(label, Required(q.Labels))
	choose(namespaceLabel, Required(q.Namespaces))
	if q.Annotations != nil {
		choose(annotation, q.Annotations.Required())
	}
	return best
}

// bucketsOf returns the buckets of a requirement, and how many queries are in them.
func (x *Index[K]) bucketsOf(what feature, namespace string, r Requirement) (in []bucket, size int) {
	if r.Values == nil {
		in = []bucket{{what + has, namespace, r.Key, ""}}
	}
	for _, value := range r.Values {
		in = append(in, bucket{what, namespace, r.Key, value})
	}
	for _, b := range in {
		size += len(x.buckets[b])
	}
	return in, size
}

func (x *Index[K]) remove(s *standing[K]) {
	for _, b := range s.in {
		all := x.buckets[b]
		at := slices.Index(all, s)
		last := len(all) - 1
		all[at], all[last] = all[last], nil
		if last == 0 {
			delete(x.buckets, b)
		} else {
			x.buckets[b] = all[:last]
		}
	}
}
