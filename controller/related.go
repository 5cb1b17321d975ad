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

// related are the caches of the resources that customize hooks ask for, and who looks for what in them: one for all loops,
// so that an event concerns nobody who does not look for it. A cache is opened when the first parent needs it and closed
// when no parent does any more.
type related struct {
	mu     sync.Mutex
	caches map[schema.GroupVersionResource]*relatedCache
	asking map[*loop]map[object.Ref]bool // the parents that look for something
}

// An asker is a parent that looks for related objects, for one controller.
type asker struct {
	*loop
	parent object.Ref
}

// A relatedCache is the cache of one resource.
type relatedCache struct {
	kube.Resource
	*informer.Informer
	filled  atomic.Bool // and its events count
	stop    context.CancelFunc
	waited  chan struct{}          // is closed when it is filled, or stopped
	asking  selection.Index[asker] // who looks for which of its objects
	members selection.Index[asker] // of the namespaces: who looks into those that match
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
func (l *loop) lookFor(parent object.Ref, rules []relatedRule) relatedCaches {
	r := l.related
	r.mu.Lock()
	needed, asks, members := relatedCaches{}, map[*relatedCache][]selection.Query{}, []selection.Query(nil)
	for _, rule := range rules {
		cache := r.cache(l, rule.Resource)
		needed[rule.GroupVersionResource] = cache
		asks[cache] = append(asks[cache], rule.query)
		if rule.query.Namespaces != nil {
			needed[namespaces.GroupVersionResource] = r.cache(l, namespaces)
			members = append(members, selection.Query{Labels: rule.query.Namespaces})
		}
	}
	unused := r.place(asker{l, parent}, asks, members)
	r.mu.Unlock()
	closeAll(unused)
	return needed
}

// place replaces what a parent looks for. It gives the caches that nobody needs any more, for good.
func (r *related) place(who asker, asks map[*relatedCache][]selection.Query, members []selection.Query) []*relatedCache {
	var unused []*relatedCache
	for resource, cache := range r.caches {
		cache.asking.Set(who, asks[cache]...)
		if resource == namespaces.GroupVersionResource {
			cache.members.Set(who, members...)
		}
		if cache.asking.Len() == 0 && cache.members.Len() == 0 {
			delete(r.caches, resource)
			unused = append(unused, cache)
		}
	}
	if len(asks) == 0 {
		delete(r.asking[who.loop], who.parent)
		return unused
	}
	if r.asking == nil {
		r.asking = map[*loop]map[object.Ref]bool{}
	}
	if r.asking[who.loop] == nil {
		r.asking[who.loop] = map[object.Ref]bool{}
	}
	r.asking[who.loop][who.parent] = true
	return unused
}

// drop forgets what a parent looked for.
func (r *related) drop(who asker) {
	r.mu.Lock()
	var unused []*relatedCache
	if r.asking[who.loop][who.parent] {
		unused = r.place(who, nil, nil)
	}
	r.mu.Unlock()
	closeAll(unused)
}

// leave forgets what all parents of a loop looked for. Nothing of it reconciles any more.
func (r *related) leave(l *loop) {
	r.mu.Lock()
	var unused []*relatedCache
	for parent := range r.asking[l] {
		unused = append(unused, r.place(asker{l, parent}, nil, nil)...)
	}
	delete(r.asking, l)
	r.mu.Unlock()
	closeAll(unused)
}

// cache gives the cache of a resource, which it opens when there is none.
func (r *related) cache(l *loop, resource kube.Resource) *relatedCache {
	if l.SeesRelated != nil {
		l.SeesRelated(resource)
	}
	if cache := r.caches[resource.GroupVersionResource]; cache != nil {
		return cache
	}
	ctx, stop := context.WithCancel(context.Background()) // others may need it for longer than l runs
	cache := &relatedCache{Resource: resource, Informer: l.OpenRelated(resource), stop: stop, waited: make(chan struct{})}
	if r.caches == nil {
		r.caches = map[schema.GroupVersionResource]*relatedCache{}
	}
	r.caches[resource.GroupVersionResource] = cache
	if err := cache.Handle(func(old, current *object.Object) { r.onRelated(cache, old, current) }); err != nil {
		l.log.Error("related objects are not watched, please report it", "resource", resource.GroupVersionResource.String(), "error", err)
	}
	go func() {
		defer close(cache.waited)
		if cache.Synced(ctx) {
			cache.filled.Store(true)
			queueRelated(cache.asking.All())
			queueRelated(cache.members.All())
		}
	}()
	return cache
}

// closeAll gives caches back.
func closeAll(caches []*relatedCache) {
	for _, cache := range caches {
		cache.stop()
		<-cache.waited
		cache.Close()
	}
}

func queueRelated(all []asker) {
	for _, who := range all {
		who.queue.add(who.parent, RelatedChanged)
	}
}

// onRelated queues the parents that a change concerns: those whose rules match the object as it is, or matched it as it
// was. What fills a cache concerns nobody yet, since whoever needs it waits for the whole.
func (r *related) onRelated(cache *relatedCache, old, current *object.Object) {
	if !cache.filled.Load() || old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[asker]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		self := object.RefOf(o) // a parent's own events are told to it as such
		for _, who := range cache.asking.Matching(r.subject(o)) {
			if who.parent != self && !seen[who] {
				seen[who] = true
				who.queue.add(who.parent, RelatedChanged)
			}
		}
	}
	queueRelated(joinedOrLeft(cache, old, current))
}

// joinedOrLeft gives the parents for which a namespace is one of those that they look into, and was none, or the other
// way round.
func joinedOrLeft(cache *relatedCache, old, current *object.Object) []asker {
	if cache.members.Len() == 0 {
		return nil
	}
	var before, after []asker
	if old != nil {
		before = cache.members.Matching(informer.SubjectOf(old))
	}
	if current != nil {
		after = cache.members.Matching(informer.SubjectOf(current))
	}
	is := map[asker]bool{}
	for _, who := range after {
		is[who] = true
	}
	changed := slices.DeleteFunc(before, func(who asker) bool {
		stayed := is[who]
		delete(is, who)
		return stayed
	})
	for who := range is {
		changed = append(changed, who)
	}
	return changed
}

// subject is o as queries see it.
func (r *related) subject(o *object.Object) *selection.Subject {
	s := informer.SubjectOf(o)
	if s.Namespace == "" {
		return s
	}
	r.mu.Lock()
	cache := r.caches[namespaces.GroupVersionResource]
	r.mu.Unlock()
	if cache == nil {
		return s
	}
	if namespace := cache.Get(object.Key{Name: s.Namespace}); namespace != nil {
		s.NamespaceLabels = labels.Merge(nil, namespace.GetLabels()) // which is not nil
	}
	return s
}
