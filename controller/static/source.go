// Package static has controller objects that are not in a cluster: those of a file, for example.
package static

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// Objects are the objects of one kind: those in a cluster, which an informer.Informer watches, or those of a Source.
type Objects interface {
	Get(key object.Key) *object.Object
	List() []*object.Object
	Handle(handler func(old, current *object.Object)) error
	WaitForSync(ctx context.Context) bool
	HasSynced() bool
	SyncError() error
	Close()
}

// A Source has controller objects that somebody sets. They are in no cluster. A server that has a Source reads no controller
// objects from the cluster; it writes their status to the Source, which keeps it and calls OnStatus.
//
// An object has the same UID whenever one of its kind and name is set, and its generation counts the edits. The zero value
// has no objects. A Source is safe for concurrent use.
type Source struct {
	OnStatus func(o *object.Object) // is called with each new status; may be nil

	mu       sync.Mutex                 // guards what follows
	versions int64                      // the last resourceVersion
	given    map[spec.ID]*object.Object // as they were set
	objects  map[spec.ID]*object.Object // as the server sees them
	edits    map[spec.ID]int64
	handlers map[string][]func(old, current *object.Object) // by kind
}

// Set replaces all objects. An object that is as it was set before does not change; one that is not in all is deleted.
func (g *Source) Set(all []*object.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, givenBefore := g.objects, g.given
	g.objects, g.given = map[spec.ID]*object.Object{}, map[spec.ID]*object.Object{}
	for _, o := range all {
		name := spec.IDOf(o)
		g.given[name] = object.Copy(o)
		if last := givenBefore[name]; last != nil && reflect.DeepEqual(last.Object, o.Object) {
			g.objects[name] = before[name]
			continue
		}
		g.objects[name] = g.admit(o, before[name])
		g.notify(name, before[name], g.objects[name])
	}
	for name, o := range before {
		if g.objects[name] == nil {
			g.notify(name, o, nil)
		}
	}
}

// admit sets in o what an API server would set, and the status that it had before.
func (g *Source) admit(o, before *object.Object) *object.Object {
	if g.edits == nil {
		g.edits = map[spec.ID]int64{}
	}
	name, admitted := spec.IDOf(o), object.Copy(o)
	g.edits[name]++
	admitted.SetUID(uidOf(name))
	admitted.SetGeneration(g.edits[name])
	g.version(admitted)
	delete(admitted.Object, "status")
	if before != nil && before.Object["status"] != nil {
		admitted.Object["status"] = before.Object["status"]
	}
	return admitted
}

// uidOf returns the UID of the object of that name.
func uidOf(name spec.ID) types.UID {
	sum := sha256.Sum256([]byte(name.Kind + "/" + name.Name))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// version gives o a new resourceVersion.
func (g *Source) version(o *object.Object) {
	g.versions++
	o.SetResourceVersion(strconv.FormatInt(g.versions, 10))
}

// notify calls the handlers. It holds the lock of g, so that they must not call g.
func (g *Source) notify(name spec.ID, old, current *object.Object) {
	for _, handler := range g.handlers[name.Kind] {
		handler(old, current)
	}
}

// Do implements plan.Writer for statuses, which are all that a server writes of controller objects.
func (g *Source) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	name, stored := spec.IDOf(op.Object), object.Copy(op.Object)
	g.mu.Lock()
	before := g.objects[name]
	if before == nil || before.GetGeneration() != stored.GetGeneration() {
		g.mu.Unlock()
		return stored, nil // it was edited meanwhile, and is looked at again
	}
	g.version(stored)
	g.objects[name] = stored
	g.notify(name, before, stored)
	g.mu.Unlock()
	if g.OnStatus != nil {
		g.OnStatus(stored)
	}
	return stored, nil
}

// Of returns the objects of a kind.
func (g *Source) Of(kind string) Objects { return &objectsOf{g, kind} }

// objectsOf are the objects of a kind. They are there from the beginning.
type objectsOf struct {
	*Source
	kind string
}

// Get implements Objects.
func (g *objectsOf) Get(key object.Key) *object.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.objects[spec.ID{Kind: g.kind, Name: key.Name}]
}

// List implements Objects.
func (g *objectsOf) List() []*object.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*object.Object
	for name, o := range g.objects {
		if name.Kind == g.kind {
			all = append(all, o)
		}
	}
	return all
}

// Handle implements Objects. It calls handler with the objects that there are before it returns.
func (g *objectsOf) Handle(handler func(old, current *object.Object)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.handlers == nil {
		g.handlers = map[string][]func(old, current *object.Object){}
	}
	g.handlers[g.kind] = append(g.handlers[g.kind], handler)
	for name, o := range g.objects {
		if name.Kind == g.kind {
			handler(nil, o)
		}
	}
	return nil
}

// WaitForSync implements Objects.
func (g *objectsOf) WaitForSync(ctx context.Context) bool { return ctx.Err() == nil }

// HasSynced implements Objects.
func (g *objectsOf) HasSynced() bool { return true }

// SyncError implements Objects.
func (g *objectsOf) SyncError() error { return nil }

// Close does nothing: the Source may be used after it.
func (g *objectsOf) Close() {}
