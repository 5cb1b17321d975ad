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

// A roster is the objects of one kind, wherever they are: in the cluster, which an informer.Informer follows, or given.
type Objects interface {
	Get(key object.Key) *object.Object
	List() []*object.Object
	Handle(handler func(old, current *object.Object)) error
	Synced(ctx context.Context) bool
	Filled() bool
	Trouble() error
	Close()
}

// Given are controller objects that somebody gives to a [Server]. They are in no cluster: a server that has them reads none
// there, and their status, which it tells as it would in a cluster, goes to Told and is kept here.
//
// An object has the same UID whenever one of its kind and name is given, and its generation counts the edits. The zero value
// has no objects. Given is safe for concurrent use.
type Source struct {
	OnStatus func(o *object.Object) // is called with each new status; nil: nobody is told

	mu       sync.Mutex
	versions int64 // that there were, of all objects
	given    map[spec.ID]*object.Object
	objects  map[spec.ID]*object.Object
	edits    map[spec.ID]int64
	handlers map[string][]func(old, current *object.Object) // by kind
}

// Set gives all objects anew. One that is given as it was before does not change; one that is not given any more is gone.
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
		g.tell(name, before[name], g.objects[name])
	}
	for name, o := range before {
		if g.objects[name] == nil {
			g.tell(name, o, nil)
		}
	}
}

// admit gives o what an API server would give it, and the status that it had before.
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

// uidOf is the UID of the object of that name.
func uidOf(name spec.ID) types.UID {
	sum := sha256.Sum256([]byte(name.Kind + "/" + name.Name))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

func (g *Source) version(o *object.Object) {
	g.versions++
	o.SetResourceVersion(strconv.FormatInt(g.versions, 10))
}

// tell calls the handlers. They hold g's lock, and must not ask it anything.
func (g *Source) tell(name spec.ID, old, current *object.Object) {
	for _, handler := range g.handlers[name.Kind] {
		handler(old, current)
	}
}

// Do implements plan.Writer for statuses, which are all that a server writes of its controllers.
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
	g.tell(name, before, stored)
	g.mu.Unlock()
	if g.OnStatus != nil {
		g.OnStatus(stored)
	}
	return stored, nil
}

// of are the objects of a kind.
func (g *Source) Of(kind string) Objects { return &objectsOf{g, kind} }

// givenOf are the given objects of a kind. They are there from the beginning.
type objectsOf struct {
	*Source
	kind string
}

func (g *objectsOf) Get(key object.Key) *object.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.objects[spec.ID{Kind: g.kind, Name: key.Name}]
}

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

func (g *objectsOf) Synced(ctx context.Context) bool { return ctx.Err() == nil }
func (g *objectsOf) Filled() bool                    { return true }
func (g *objectsOf) Trouble() error                  { return nil }

// Close does nothing: who has given objects goes on to.
func (g *objectsOf) Close() {}
