// Package related has the caches of the objects that customize hooks request, and finds the parents that an event concerns.
//
// One [Caches] is for all controllers. [Caches.Watch] sets which related objects a parent has; from then on an event of such an
// object queues the parent. An index of the parents' queries keeps the cost of an event independent of the number of parents. A
// cache is opened when the first parent needs it, and closed when no parent needs it any more.
package related

import (
	"context"
	"fmt"
	"log/slog"
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

// Namespaces is the resource namespaces. Namespace selectors select by the labels of its objects.
var Namespaces = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace"}

// A Controller reconciles parents. Its dynamic type must be comparable, such as a pointer.
type Controller interface {
	// EnqueueParent queues a parent, since a related object has changed from old to current, of which one may be nil; both are nil if it is
	// not known which object it was. It must not block and must not call the Caches.
	EnqueueParent(parent object.Ref, old, current *object.Object)
}

// A Parent is a parent of a controller.
type Parent struct {
	Controller Controller
	Ref        object.Ref
}

func (p Parent) queue(old, current *object.Object) { p.Controller.EnqueueParent(p.Ref, old, current) }

// Caches are the caches of all resources that customize hooks request. Each has all objects of its resource, since the rules are of
// single parents and change with each call: a watch for each name or namespace would be opened and closed often, and thousands of
// watches cost the API server more than one. Open must be set before the first Watch. It is safe
// for concurrent use.
type Caches struct {
	Open func(kube.Resource) *informer.Informer // opens the cache of a resource
	Log  *slog.Logger                           // nil: nothing is logged

	// mu guards the fields below, and makes each change of the queries one step. While it is locked, the locks of package informer
	// and of selection.Index may be taken. Parents are queued, and caches are closed, without it.
	mu      sync.Mutex
	caches  map[schema.GroupVersionResource]*cache // those that a parent needs
	parents map[Controller]map[object.Ref]bool     // the parents with queries
}

// A cache is the cache of one resource, and the queries of parents for its objects.
type cache struct {
	kube.Resource
	*informer.Informer
	synced  atomic.Bool // its events are ignored before
	stop    context.CancelFunc
	waited  chan struct{}           // closed when it has synced or was stopped
	parents selection.Index[Parent] // by the queries for its objects
	members selection.Index[Parent] // only in the cache of namespaces: by their namespace selectors
}

// A View has the caches that the rules of one parent need.
type View map[schema.GroupVersionResource]*cache

// Ready returns an error if a cache that a rule needs has not synced: a [kube.ErrRequeue], unless the resource cannot be
// watched. The parent is queued when the cache has synced.
func (v View) Ready(rule Rule) error {
	needed := []*cache{v[rule.GroupVersionResource]}
	if rule.Query.Namespaces != nil {
		needed = append(needed, v[Namespaces.GroupVersionResource])
	}
	for _, c := range needed {
		if c.synced.Load() {
			continue
		}
		what := fmt.Sprintf("%s in %s", c.GroupVersionResource.Resource, c.GroupVersion())
		if err := c.SyncError(); err != nil {
			return fmt.Errorf("%s cannot be watched: %w", what, err)
		}
		return fmt.Errorf("the cache of %s is being filled: %w", what, kube.ErrRequeue)
	}
	return nil
}

// Find returns the objects that a rule selects.
func (v View) Find(rule Rule) []*object.Object {
	c, q := v[rule.GroupVersionResource], rule.Query
	if q.Namespaces == nil {
		return c.Select(q)
	}
	var found []*object.Object
	for _, namespace := range v.Namespaces(rule) {
		found = append(found, c.Select(selection.Query{Namespace: namespace, Labels: q.Labels})...)
	}
	return found
}

// Namespaces returns the names of the namespaces that a rule selects by their labels.
func (v View) Namespaces(rule Rule) []string {
	var names []string
	for _, namespace := range v[Namespaces.GroupVersionResource].Select(selection.Query{Labels: rule.Query.Namespaces}) {
		names = append(names, namespace.GetName())
	}
	return names
}

// Watch replaces the queries of a parent by those of the rules: events of the objects that they select queue the parent. It
// returns the caches that the rules need, and opens those that are missing.
func (cs *Caches) Watch(parent Parent, rules []Rule) View {
	cs.mu.Lock()
	needed, queries, members := View{}, map[*cache][]selection.Query{}, []selection.Query(nil)
	for _, rule := range rules {
		c := cs.cache(rule.Resource)
		needed[rule.GroupVersionResource] = c
		queries[c] = append(queries[c], rule.Query)
		if rule.Query.Namespaces != nil {
			needed[Namespaces.GroupVersionResource] = cs.cache(Namespaces)
			members = append(members, selection.Query{Labels: rule.Query.Namespaces})
		}
	}
	unused := cs.set(parent, queries, members)
	cs.mu.Unlock()
	closeAll(unused)
	return needed
}

// set replaces the queries of a parent. It returns the caches that no parent needs any more, for the caller to close. The
// caller has locked mu.
func (cs *Caches) set(parent Parent, queries map[*cache][]selection.Query, members []selection.Query) []*cache {
	var unused []*cache
	for resource, c := range cs.caches {
		c.parents.Set(parent, queries[c]...)
		if resource == Namespaces.GroupVersionResource {
			c.members.Set(parent, members...)
		}
		if c.parents.Len() == 0 && c.members.Len() == 0 {
			delete(cs.caches, resource)
			unused = append(unused, c)
		}
	}
	if len(queries) == 0 {
		delete(cs.parents[parent.Controller], parent.Ref)
		return unused
	}
	if cs.parents == nil {
		cs.parents = map[Controller]map[object.Ref]bool{}
	}
	if cs.parents[parent.Controller] == nil {
		cs.parents[parent.Controller] = map[object.Ref]bool{}
	}
	cs.parents[parent.Controller][parent.Ref] = true
	return unused
}

// Forget removes the queries of a parent.
func (cs *Caches) Forget(parent Parent) {
	cs.mu.Lock()
	var unused []*cache
	if cs.parents[parent.Controller][parent.Ref] {
		unused = cs.set(parent, nil, nil)
	}
	cs.mu.Unlock()
	closeAll(unused)
}

// Leave removes the queries of all parents of a controller. No reconcile of the controller may be running.
func (cs *Caches) Leave(controller Controller) {
	cs.mu.Lock()
	var unused []*cache
	for parent := range cs.parents[controller] {
		unused = append(unused, cs.set(Parent{controller, parent}, nil, nil)...)
	}
	delete(cs.parents, controller)
	cs.mu.Unlock()
	closeAll(unused)
}

// Probe locks and unlocks mu, for a health check that detects a deadlock.
func (cs *Caches) Probe() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
}

// cache returns the cache of a resource. It opens the cache when there is none.
func (cs *Caches) cache(resource kube.Resource) *cache {
	if c := cs.caches[resource.GroupVersionResource]; c != nil {
		return c
	}
	ctx, stop := context.WithCancel(context.Background()) // not that of the first parent, since others may need the cache longer
	c := &cache{Resource: resource, Informer: cs.Open(resource), stop: stop, waited: make(chan struct{})}
	if cs.caches == nil {
		cs.caches = map[schema.GroupVersionResource]*cache{}
	}
	cs.caches[resource.GroupVersionResource] = c
	if err := c.Handle(func(old, current *object.Object) { cs.onEvent(c, old, current) }); err != nil && cs.Log != nil {
		cs.Log.Error("related objects are not watched, please report it", "resource", resource.GroupVersionResource.String(), "error", err)
	}
	go func() {
		defer close(c.waited)
		if c.WaitForSync(ctx) {
			c.synced.Store(true)
			queueAll(c.parents.All(), nil, nil)
			queueAll(c.members.All(), nil, nil)
		}
	}()
	return c
}

// closeAll closes caches.
func closeAll(caches []*cache) {
	for _, c := range caches {
		c.stop()
		<-c.waited
		c.Close()
	}
}

func queueAll(parents []Parent, old, current *object.Object) {
	for _, p := range parents {
		p.queue(old, current)
	}
}

// onEvent queues the parents whose rules match an object after a change, or matched it before. Before a cache has synced,
// its events are ignored, since the parents that need it are queued then.
func (cs *Caches) onEvent(c *cache, old, current *object.Object) {
	if !c.synced.Load() || old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[Parent]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		self := object.RefOf(o) // the Reconciler handles the events of the parent itself
		for _, p := range c.parents.Matching(cs.subject(o)) {
			if p.Ref != self && !seen[p] {
				seen[p] = true
				p.queue(old, current)
			}
		}
	}
	queueAll(joinedOrLeft(c, old, current), old, current)
}

// joinedOrLeft returns the parents whose namespace selectors match a namespace after a change and not before, or the
// reverse.
func joinedOrLeft(c *cache, old, current *object.Object) []Parent {
	if c.members.Len() == 0 {
		return nil
	}
	var before, after []Parent
	if old != nil {
		before = c.members.Matching(informer.SubjectOf(old))
	}
	if current != nil {
		after = c.members.Matching(informer.SubjectOf(current))
	}
	is := map[Parent]bool{}
	for _, p := range after {
		is[p] = true
	}
	changed := slices.DeleteFunc(before, func(p Parent) bool {
		stayed := is[p]
		delete(is, p)
		return stayed
	})
	for p := range is {
		changed = append(changed, p)
	}
	return changed
}

// subject returns o as the subject of queries, with the labels of its namespace.
func (cs *Caches) subject(o *object.Object) *selection.Subject {
	s := informer.SubjectOf(o)
	if s.Namespace == "" {
		return s
	}
	cs.mu.Lock()
	c := cs.caches[Namespaces.GroupVersionResource]
	cs.mu.Unlock()
	if c == nil {
		return s
	}
	if namespace := c.Get(object.Key{Name: s.Namespace}); namespace != nil {
		s.NamespaceLabels = labels.Merge(nil, namespace.GetLabels()) // which is not nil
	}
	return s
}
