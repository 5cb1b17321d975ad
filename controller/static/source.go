// Package static has controller objects that are not in a cluster, such as those of a file.
package static

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// A Source has controller objects that its user sets, and that are not in a cluster. A server with a Source reads no
// controller objects from the cluster. It writes their status to the Source, which stores it and calls OnStatus.
//
// Objects of the same kind and name always have the same UID. The generation counts the edits. The zero value has no
// objects. A Source is safe for concurrent use.
//
// The controllers act as the user of the server, who need not be permitted to impersonate: spec.serviceAccount is removed.
type Source struct {
	OnStatus func(o *object.Object) // is called with each new status; may be nil

	mu       sync.Mutex                 // guards the fields below; handlers are called with it locked, OnStatus without it
	versions int64                      // the last resourceVersion
	lastSet  map[spec.ID]*object.Object // the arguments of the last Set
	objects  map[spec.ID]*object.Object // with the fields that an API server sets
	edits    map[spec.ID]int64
	handlers map[string][]func(old, current *object.Object) // by kind
}

// Set replaces all objects. An object that equals the one that was last set does not change. An object that is not in all is
// deleted.
func (g *Source) Set(all []*object.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, setBefore := g.objects, g.lastSet
	g.objects, g.lastSet = map[spec.ID]*object.Object{}, map[spec.ID]*object.Object{}
	for _, o := range all {
		name := spec.IDOf(o)
		g.lastSet[name] = object.Copy(o)
		if last := setBefore[name]; last != nil && reflect.DeepEqual(last.Map(), o.Map()) {
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

// admit returns a copy of o with the fields that an API server sets, and with the status of before.
func (g *Source) admit(o, before *object.Object) *object.Object {
	if g.edits == nil {
		g.edits = map[spec.ID]int64{}
	}
	name, admitted := spec.IDOf(o), object.Copy(o)
	g.edits[name]++
	admitted.SetUID(uidOf(name))
	admitted.SetGeneration(g.edits[name])
	g.version(admitted)
	delete(admitted.Map(), "status")
	unstructured.RemoveNestedField(admitted.Map(), "spec", "serviceAccount")
	if before != nil && before.Map()["status"] != nil {
		admitted.Map()["status"] = before.Map()["status"]
	}
	return admitted
}

// uidOf returns the UID of the object of that name.
func uidOf(name spec.ID) types.UID {
	sum := sha256.Sum256([]byte(name.Kind + "/" + name.Name))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// version sets a new resourceVersion of o.
func (g *Source) version(o *object.Object) {
	g.versions++
	o.SetResourceVersion(strconv.FormatInt(g.versions, 10))
}

// notify calls the handlers, with mu locked, so they must not use g.
func (g *Source) notify(name spec.ID, old, current *object.Object) {
	for _, handler := range g.handlers[name.Kind] {
		handler(old, current)
	}
}

// Do implements plan.Writer. It stores the status, since a server writes nothing else of controller objects.
func (g *Source) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	name, stored := spec.IDOf(op.Object), object.Copy(op.Object)
	g.mu.Lock()
	before := g.objects[name]
	if before == nil || before.GetGeneration() != stored.GetGeneration() {
		g.mu.Unlock()
		return stored, nil // it was edited meanwhile, and is loaded again
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

// objectsOf are the objects of a kind. They have synced from the beginning.
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

// Handle implements Objects. Before it returns, it calls handler with the objects that exist.
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

// Close does nothing, since the Source can still be used.
func (g *objectsOf) Close() {}
