package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
)

// related are the caches of the resources that customize hooks ask for, and who looks for what in them. A cache is
// opened when the first parent needs it and closed when no parent does any more.
type related struct {
	mu      sync.Mutex
	caches  map[schema.GroupVersionResource]*relatedCache
	waiting sync.WaitGroup // for caches to be filled
}

// A relatedCache is the cache of one resource.
type relatedCache struct {
	kube.Resource
	*informer.Informer
	filled  atomic.Bool // and its events count
	stop    context.CancelFunc
	asking  selection.Index[object.Ref] // which parents look for which of its objects
	members selection.Index[object.Ref] // of the namespaces: which parents look into those that match
}

// A relatedRule is a rule of a customize hook, with what discovery says of its resource.
type relatedRule struct {
	kube.Resource
	query selection.Query
}

func (r relatedRule) sameResource(other relatedRule) bool { return r.Resource == other.Resource }

// namespaces are the resource whose labels selectors of namespaces are about.
var namespaces = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace"}

// selectRelated gives the objects that find finds, by name within each kind.
func selectRelated(rules []relatedRule, find func(relatedRule) []*object.Object) *object.Set {
	set, found := &object.Set{}, map[object.Kind][]*object.Object{}
	for _, rule := range rules {
		kind := rule.ObjectKind()
		set.Declare(kind)
		found[kind] = append(found[kind], find(rule)...)
	}
	for _, kind := range set.Kinds() {
		for _, o := range object.Sorted(found[kind]) {
			set.Put(o)
		}
	}
	return set
}

// relatedCaches are those that the rules of one parent need.
type relatedCaches map[schema.GroupVersionResource]*relatedCache

// ready is an error while a cache that a rule needs is not filled.
func (c relatedCaches) ready(rule relatedRule) error {
	needed := []*relatedCache{c[rule.GroupVersionResource]}
	if rule.query.Namespaces != nil {
		needed = append(needed, c[namespaces.GroupVersionResource])
	}
	for _, cache := range needed {
		if cache.filled.Load() {
			continue
		}
		what := fmt.Sprintf("%s in %s", cache.GroupVersionResource.Resource, cache.GroupVersion())
		if err := cache.Trouble(); err != nil {
			return fmt.Errorf("%s cannot be watched: %w", what, err)
		}
		return fmt.Errorf("the cache of %s is being filled: %w", what, errLookAgain)
	}
	return nil
}

// find gives the objects that a rule is about.
func (c relatedCaches) find(rule relatedRule) []*object.Object {
	cache, q := c[rule.GroupVersionResource], rule.query
	if q.Namespaces == nil {
		return cache.Select(q)
	}
	var found []*object.Object
	for _, namespace := range c[namespaces.GroupVersionResource].Select(selection.Query{Labels: q.Namespaces}) {
		found = append(found, cache.Select(selection.Query{Namespace: namespace.GetName(), Labels: q.Labels})...)
	}
	return found
}

// lookFor has the events of what the rules are about queue the parent, and those of nothing else. It gives the caches
// that the rules need, and opens those that are missing.
func (l *loop) lookFor(ctx context.Context, parent object.Ref, rules []relatedRule) relatedCaches {
	l.related.mu.Lock()
	needed, asks, members := relatedCaches{}, map[*relatedCache][]selection.Query{}, []selection.Query(nil)
	for _, rule := range rules {
		cache := l.relatedCache(ctx, rule.Resource)
		needed[rule.GroupVersionResource] = cache
		asks[cache] = append(asks[cache], rule.query)
		if rule.query.Namespaces != nil {
			needed[namespaces.GroupVersionResource] = l.relatedCache(ctx, namespaces)
			members = append(members, selection.Query{Labels: rule.query.Namespaces})
		}
	}
	unused := l.related.place(parent, asks, members)
	l.related.mu.Unlock()
	for _, cache := range unused {
		cache.close()
	}
	return needed
}

// place replaces what a parent looks for. It gives the caches that nobody needs any more, for good.
func (r *related) place(parent object.Ref, asks map[*relatedCache][]selection.Query, members []selection.Query) []*relatedCache {
	var unused []*relatedCache
	for resource, cache := range r.caches {
		cache.asking.Set(parent, asks[cache]...)
		if resource == namespaces.GroupVersionResource {
			cache.members.Set(parent, members...)
		}
		if cache.asking.Len() == 0 && cache.members.Len() == 0 {
			delete(r.caches, resource)
			unused = append(unused, cache)
		}
	}
	return unused
}

// drop forgets what a parent looked for.
func (r *related) drop(parent object.Ref) {
	r.mu.Lock()
	unused := r.place(parent, nil, nil)
	r.mu.Unlock()
	for _, cache := range unused {
		cache.close()
	}
}

// relatedCache gives the cache of a resource, which it opens when there is none.
func (l *loop) relatedCache(ctx context.Context, resource kube.Resource) *relatedCache {
	r := &l.related
	if cache := r.caches[resource.GroupVersionResource]; cache != nil {
		return cache
	}
	ctx, stop := context.WithCancel(ctx)
	cache := &relatedCache{Resource: resource, Informer: l.OpenRelated(resource), stop: stop}
	if r.caches == nil {
		r.caches = map[schema.GroupVersionResource]*relatedCache{}
	}
	r.caches[resource.GroupVersionResource] = cache
	if err := cache.Handle(func(old, current *object.Object) { l.onRelated(cache, old, current) }); err != nil {
		l.log.Error("related objects are not watched, please report it", "resource", resource.GroupVersionResource.String(), "error", err)
	}
	r.waiting.Go(func() {
		if cache.Synced(ctx) {
			cache.filled.Store(true)
			l.queueRelated(cache.asking.All())
			l.queueRelated(cache.members.All())
		}
	})
	return cache
}

func (c *relatedCache) close() {
	c.stop()
	c.Close()
}

// close gives all caches back. Nothing reconciles any more.
func (r *related) close() {
	for _, cache := range r.caches {
		cache.close()
	}
	r.waiting.Wait()
}

func (l *loop) queueRelated(parents []object.Ref) {
	for _, parent := range parents {
		l.queue.add(parent, RelatedChanged)
	}
}

// onRelated queues the parents that a change concerns: those whose rules match the object as it is, or matched it as it
// was. What fills a cache concerns nobody yet, since whoever needs it waits for the whole.
func (l *loop) onRelated(cache *relatedCache, old, current *object.Object) {
	if !cache.filled.Load() || old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[object.Ref]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		self := object.RefOf(o) // a parent's own events are told to it as such
		for _, parent := range cache.asking.Matching(l.subject(o)) {
			if parent != self && !seen[parent] {
				seen[parent] = true
				l.queue.add(parent, RelatedChanged)
			}
		}
	}
	l.queueRelated(joinedOrLeft(cache, old, current))
}

// joinedOrLeft gives the parents for which a namespace is one of those that they look into, and was none, or the other
// way round.
func joinedOrLeft(cache *relatedCache, old, current *object.Object) []object.Ref {
	if cache.members.Len() == 0 {
		return nil
	}
	var before, after []object.Ref
	if old != nil {
		before = cache.members.Matching(informer.SubjectOf(old))
	}
	if current != nil {
		after = cache.members.Matching(informer.SubjectOf(current))
	}
	is := map[object.Ref]bool{}
	for _, parent := range after {
		is[parent] = true
	}
	changed := slices.DeleteFunc(before, func(parent object.Ref) bool {
		stayed := is[parent]
		delete(is, parent)
		return stayed
	})
	for parent := range is {
		changed = append(changed, parent)
	}
	return changed
}

// subject is o as queries see it.
func (l *loop) subject(o *object.Object) *selection.Subject {
	s := informer.SubjectOf(o)
	if s.Namespace == "" {
		return s
	}
	l.related.mu.Lock()
	cache := l.related.caches[namespaces.GroupVersionResource]
	l.related.mu.Unlock()
	if cache == nil {
		return s
	}
	if namespace := cache.Get(object.Key{Name: s.Namespace}); namespace != nil {
		s.NamespaceLabels = labels.Merge(nil, namespace.GetLabels()) // which is not nil
	}
	return s
}
