// Package references watches the Secrets and ConfigMaps that controller objects refer to: each by its name, and once, also if
// several controllers refer to it. Controllers are notified only when the content of an object changes.
package references

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/informer"
	"metascript/controller/object"
)

// The kinds of objects that can be referred to.
const (
	Secret    = "Secret"
	ConfigMap = "ConfigMap"
)

// An Object names a Secret or a ConfigMap.
type Object struct{ Kind, Namespace, Name string }

func (o Object) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// Compare compares two objects for slices.SortFunc: by kind, namespace and name.
func Compare(a, b Object) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Resource returns the resource of the object: secrets or configmaps.
func (o Object) Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(o.Kind) + "s"}
}

func (o Object) spec() informer.Spec {
	return informer.Spec{Resource: o.Resource(), Namespace: o.Namespace, Name: o.Name}
}

// A Watcher watches the objects that users refer to. A user is identified by a comparable value. A Watcher is safe for
// concurrent use, except that calls of Watch and Leave for the same user must not be concurrent.
type Watcher struct {
	caches *informer.Factory

	// mu guards watched, and the users of each. While it is locked, the locks of package informer may be taken. The functions of the
	// users are called, and caches are closed, without it.
	mu      sync.Mutex
	watched map[Object]*watched
}

// watched is an object that at least one user refers to.
type watched struct {
	*informer.Informer
	users map[any]func() // the functions to call when the content changes, or nil; guarded by Watcher.mu
}

// NewWatcher returns a Watcher that watches nothing yet.
func NewWatcher(caches *informer.Factory) *Watcher {
	return &Watcher{caches: caches, watched: map[Object]*watched{}}
}

// Watch replaces the objects that user refers to. It calls changed, unless that is nil, when the content of one of them
// changes; a call may still come shortly after Leave.
func (w *Watcher) Watch(user any, changed func(), objects ...Object) error {
	w.drop(user, objects)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range objects {
		if err := w.add(o); err != nil {
			return err
		}
		w.watched[o].users[user] = changed
	}
	return nil
}

// Leave stops watching for user.
func (w *Watcher) Leave(user any) { w.drop(user, nil) }

// drop removes user from all objects except keep, and stops the watches that have no user any more.
func (w *Watcher) drop(user any, keep []Object) {
	for _, unused := range w.remove(user, keep) {
		unused.Close() // without the lock, since its handler may wait for it
	}
}

func (w *Watcher) remove(user any, keep []Object) (unused []*watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for o, there := range w.watched {
		if slices.Contains(keep, o) {
			continue
		}
		if delete(there.users, user); len(there.users) == 0 {
			delete(w.watched, o)
			unused = append(unused, there)
		}
	}
	return unused
}

// add starts to watch an object, unless it is watched already. The caller has locked mu.
func (w *Watcher) add(o Object) error {
	if w.watched[o] != nil {
		return nil
	}
	added := &watched{w.caches.Open(o.spec()), map[any]func(){}}
	err := added.Handle(func(old, current *object.Object) {
		if !reflect.DeepEqual(contentOf(old), contentOf(current)) {
			w.notify(added)
		}
	})
	if err != nil {
		added.Close()
		return fmt.Errorf("watch %s: %w", o, err)
	}
	w.watched[o] = added
	return nil
}

// notify calls the functions of the users of an object, without the lock.
func (w *Watcher) notify(changed *watched) {
	var calls []func()
	w.mu.Lock()
	for _, call := range changed.users {
		if call != nil {
			calls = append(calls, call)
		}
	}
	w.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// content is the part of an object whose changes are reported.
type content struct{ data, binary any }

// contentOf returns the content of o. It is nil if o does not exist, which differs from empty content.
func contentOf(o *object.Object) *content {
	if o == nil {
		return nil
	}
	data, _ := o.Field("data")
	binary, _ := o.Field("binaryData")
	return &content{data, binary}
}

// WaitForSyncOrError waits until each object that user refers to was read, or does not exist, or cannot be read. It also
// returns when ctx is done.
func (w *Watcher) WaitForSyncOrError(ctx context.Context, user any) {
	for _, there := range w.of(user) {
		there.WaitForSyncOrError(ctx)
	}
}

// of returns the watched objects of user.
func (w *Watcher) of(user any) map[Object]*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[Object]*watched{}
	for o, there := range w.watched {
		if _, uses := there.users[user]; uses {
			found[o] = there
		}
	}
	return found
}

// ErrNotWatched is the error of Get for an object that no user watches.
var ErrNotWatched = errors.New("is not watched")

// ErrMissing is the error of Get for an object that does not exist.
var ErrMissing = errors.New("does not exist")

// Get returns an object from the cache. The text of an error continues a sentence that begins with the name of the object. A Secret of the
// server itself is an error.
func (w *Watcher) Get(o Object) (*object.Object, error) {
	found, err := w.Private(o)
	if err == nil && object.IsPrivate(found) {
		return nil, fmt.Errorf("has the type %s: only the server itself may read it", object.PrivateSecret)
	}
	return found, err
}

// Private is Get for a Secret of the server itself.
func (w *Watcher) Private(o Object) (*object.Object, error) {
	w.mu.Lock()
	there := w.watched[o]
	w.mu.Unlock()
	if there == nil {
		return nil, ErrNotWatched
	}
	if found := there.Informer.Get(object.Key{Namespace: o.Namespace, Name: o.Name}); found != nil {
		return found, nil
	}
	if err := there.SyncError(); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if !there.HasSynced() {
		return nil, errors.New("is not read yet")
	}
	return nil, ErrMissing
}

// Stale returns which of the objects that user refers to are not kept up to date any more, sorted.
func (w *Watcher) Stale(user any) []string {
	var all []string
	for o, there := range w.of(user) {
		if err := there.Stale(); err != nil {
			all = append(all, fmt.Sprintf("changes of %s are not observed: %v", o, err))
		}
	}
	slices.Sort(all)
	return all
}

// Close stops all watches.
func (w *Watcher) Close() {
	w.mu.Lock()
	all := w.watched
	w.watched = map[Object]*watched{}
	w.mu.Unlock()
	for _, there := range all {
		there.Close()
	}
}
