// Package memapi is the API of Kubernetes in memory: an API server that a client reaches without a network, and the parts of a
// control plane without which its objects would not behave as in a cluster.
//
// A [Server] is an http.RoundTripper; use it as the Transport of a rest.Config. It serves the kinds of Kubernetes and those of the
// CustomResourceDefinitions that are created in it: discovery, get, list, watch, create, update, patch, apply, delete, the
// subresource status, dry runs, preconditions, finalizers, generations and managed fields. Objects of custom resources are pruned,
// defaulted and validated with the code of the API server. What it refuses, it refuses with the status and the message of the API
// server.
//
// It permits everything: there is no authentication, no authorization and no admission.
//
// # Order
//
// Requests are answered one after the other, each some time after it arrived (see [Latency]), and those that arrived at the same time
// in the order of their texts. Watches get a change before the client that made it gets its answer. With the clock of package
// virtualtime, this makes everything that a program does with its API server deterministic: the next request is answered when the
// program has done everything that the previous answer caused.
package memapi

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// Latency is the time before and after each change.
const Latency = time.Millisecond

// A Server is an API server in memory. It is safe for concurrent use. The zero value is not usable: see [New].
type Server struct {
	calls calls

	// OnChange, if it is set, is called with each change of an object, in their order, before the answer of the request that made
	// it. It must not call the Server. It is set before the first request.
	OnChange func(Change)

	// Refuse, if it is set, is called with each request that would change an object, and may return an error, which the client gets.
	// It must not call the Server. It is set before the first request.
	Refuse func(Write) error

	mu      sync.Mutex // guards the fields below
	catalog *catalog
	objects map[schema.GroupResource]map[object.Key]*object.Object // in the version in which they were written
	version int64                                                  // the last resourceVersion
	agent   string                                                 // the user agent of the current request
	history []Change                                               // all changes, for watches
	watches map[*watch]bool
	names   names
}

// A Change is a change of an object. Before or After is nil if the object was created or deleted. The objects must not be changed.
type Change struct {
	Resource      schema.GroupVersionResource
	Before, After *object.Object
	UserAgent     string // of the request
	version       int64
}

// A Write is a request that would change an object.
type Write struct {
	Verb     string // create, update, patch or delete
	Resource schema.GroupVersionResource
	Kind     string
	object.Key
	Subresource string
	UserAgent   string
}

// New returns a Server with the namespaces.
func New(namespaces ...string) *Server {
	s := &Server{
		catalog: newCatalog(), objects: map[schema.GroupResource]map[object.Key]*object.Object{}, version: 1,
		watches: map[*watch]bool{}, names: names{},
	}
	s.calls.serve = s.serve
	for _, name := range namespaces {
		o := object.New(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
		if _, err := s.create(&request{kind: s.catalog.byResource(namespaceResource)}, o); err != nil {
			panic(err) // the name is not valid
		}
	}
	return s
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	c, err := newCall(r)
	if err != nil {
		return nil, err
	}
	s.calls.add(c)
	select {
	case response := <-c.answer:
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// Get returns an object, or nil. The object must not be changed.
func (s *Server) Get(resource schema.GroupResource, key object.Key) *object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[resource][key]
}

// All returns all objects, in no order. They must not be changed.
func (s *Server) All() []*object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*object.Object
	for _, objects := range s.objects {
		for _, o := range objects {
			all = append(all, o)
		}
	}
	return all
}

// Resource returns the resource of a kind, and whether it is namespaced. ok is false if the kind is not served.
func (s *Server) Resource(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, namespaced, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.catalog.byKind(kind)
	if k == nil {
		return resource, false, false
	}
	return k.GroupVersionResource, k.Namespaced, true
}

// Kinds returns the kinds with this name that are served, such as those of a name that a person wrote; all if name is "".
func (s *Server) Kinds(name string) []schema.GroupVersionKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog.named(name)
}
