// Package related holds the caches of the objects that customize hooks ask for, and finds out which parents an event
// concerns.
//
// One [Caches] serves all controllers. A parent states with [Caches.Watch] which objects it looks for; from then on an event
// of such an object queues the parent, and an event of any other object does not. An index of the parents' queries keeps
// the cost of an event independent of the number of parents. A cache is opened when the first parent needs it and closed
// when no parent does any more.
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

// Namespaces are the resource whose labels namespace selectors are about.
var Namespaces = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace"}

// A Controller is whoever reconciles the parents. Its dynamic type must be comparable, such as a pointer.
type Controller interface {
	// EnqueueParent queues a parent, since related objects have changed. It must not block and must not call the Caches.
	EnqueueParent(parent object.Ref)
}

// A Parent is a parent of a controller.
type Parent struct {
	Controller Controller
	Ref        object.Ref
}

func (p Parent) queue() { p.Controller.EnqueueParent(p.Ref) }

// Caches are the caches of all resources that customize hooks ask for. Open must be set before the first Watch. It is safe
// for concurrent use.
type Caches struct {
	Open func(kube.Resource) *informer.Informer // opens the cache of a resource
	Log  *slog.Logger                           // nil drops

	mu      sync.Mutex                             // guards what follows, and the order in which parents change what they look for
	caches  map[schema.GroupVersionResource]*cache // those that some parent needs
	parents map[Controller]map[object.Ref]bool     // the parents that look for something
}

// A cache is the cache of one resource, and who looks for what in it.
type cache struct {
	kube.Resource
	*informer.Informer
	synced  atomic.Bool // before it is, its events concern nobody
	stop    context.CancelFunc
	waited  chan struct{}           // is closed when it is filled, or stopped
	parents selection.Index[Parent] // who looks for which of its objects
	members selection.Index[Parent] // of the cache of namespaces: who looks into the namespaces that match
}

// A View is the caches that the rules of one parent need.
type View map[schema.GroupVersionResource]*cache

// Ready returns an error while a cache that a rule needs is not filled: a [kube.ErrRequeue], unless the resource cannot be
// watched. The parent is queued when the cache is filled.
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
	for _, namespace := range v[Namespaces.GroupVersionResource].Select(selection.Query{Labels: q.Namespaces}) {
		found = append(found, c.Select(selection.Query{Namespace: namespace.GetName(), Labels: q.Labels})...)
	}
	return found
}

// Watch has events of what the rules select queue the parent, and events of what it looked for before no longer. It returns
// the caches that the rules need, and opens those that are missing.
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

// set replaces what a parent looks for. It returns the caches that nobody needs any more; they are not used again.
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

// Forget drops what a parent looked for.
func (cs *Caches) Forget(parent Parent) {
	cs.mu.Lock()
	var unused []*cache
	if cs.parents[parent.Controller][parent.Ref] {
		unused = cs.set(parent, nil, nil)
	}
	cs.mu.Unlock()
	closeAll(unused)
}

// Leave drops what all parents of a controller looked for. No reconcile of the controller may run any more.
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

// Probe takes the lock and releases it, so that a lock that is never released shows.
func (cs *Caches) Probe() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
}

// cache returns the cache of a resource. It opens the cache when there is none.
func (cs *Caches) cache(resource kube.Resource) *cache {
	if c := cs.caches[resource.GroupVersionResource]; c != nil {
		return c
	}
	ctx, stop := context.WithCancel(context.Background()) // others may need it for longer than who needs it first
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
			queueAll(c.parents.All())
			queueAll(c.members.All())
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

func queueAll(parents []Parent) {
	for _, p := range parents {
		p.queue()
	}
}

// onEvent queues the parents that a change concerns: those whose rules match the object as it is, or matched it as it was.
// Until a cache is filled its events concern nobody, since whoever needs it waits for the whole.
func (cs *Caches) onEvent(c *cache, old, current *object.Object) {
	if !c.synced.Load() || old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[Parent]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		self := object.RefOf(o) // a parent's own events reach it without us
		for _, p := range c.parents.Matching(cs.subject(o)) {
			if p.Ref != self && !seen[p] {
				seen[p] = true
				p.queue()
			}
		}
	}
	queueAll(joinedOrLeft(c, old, current))
}

// joinedOrLeft returns the parents for which a namespace is now one of those that they look into and was none before, or
// the reverse.
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

// subject is o as queries see it.
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
