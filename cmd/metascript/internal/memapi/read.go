package memapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/object"
)

// inVersion returns o in the version of a kind: the object with another apiVersion.
func (k *kind) inVersion(o *object.Object) *object.Object {
	if o == nil || o.GetAPIVersion() == k.GroupVersion().String() {
		return o
	}
	converted := object.Copy(o)
	converted.SetAPIVersion(k.GroupVersion().String())
	return converted
}

// get returns an object.
func (s *Server) get(r *request) (*object.Object, error) {
	o := s.objects[r.resource()][r.Key]
	if o == nil {
		return nil, apierrors.NewNotFound(r.resource(), r.Name)
	}
	return r.kind.inVersion(o), nil
}

// list returns the objects that a request selects, ordered by namespace and name.
func (s *Server) list(r *request) (*list, error) {
	selects, err := r.selects()
	if err != nil {
		return nil, err
	}
	found := &list{
		TypeMeta: metav1.TypeMeta{APIVersion: r.kind.GroupVersion().String(), Kind: r.kind.Kind + "List"},
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.version, 10)}, Items: []any{},
	}
	for _, o := range s.sorted(r) {
		if selects(o) {
			found.Items = append(found.Items, r.kind.inVersion(o))
		}
	}
	return found, nil
}

// sorted returns the objects of the resource of a request, ordered by namespace and name.
func (s *Server) sorted(r *request) []*object.Object {
	var all []*object.Object
	for _, o := range s.objects[r.resource()] {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *object.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// A watch is an answer that continues with each change. Its Read waits for the next one.
type watch struct {
	of      *request
	selects func(*object.Object) bool

	mu     sync.Mutex // guards the fields below
	more   *sync.Cond
	text   bytes.Buffer // what was not read yet
	closed bool
}

// watch answers a request to watch objects: with those that exist, if the client asks for them, and with the changes since the
// resourceVersion of the request.
func (s *Server) watch(c *call, r *request) *http.Response {
	selects, err := r.selects()
	if err != nil {
		return failure(c, err, nil)
	}
	w := &watch{of: r, selects: selects}
	w.more = sync.NewCond(&w.mu)
	since, _ := strconv.ParseInt(r.query.Get("resourceVersion"), 10, 64)
	if r.flag("sendInitialEvents") || since == 0 && !r.query.Has("sendInitialEvents") {
		for _, o := range s.sorted(r) {
			if selects(o) {
				w.send("ADDED", o)
			}
		}
		since = s.version
	}
	if r.flag("sendInitialEvents") {
		w.bookmark(s.version)
	}
	for _, change := range s.history {
		if change.version > since {
			w.notify(change)
		}
	}
	s.watches[w] = true
	end := make(chan struct{})
	go func() {
		select {
		case <-c.request.Context().Done():
		case <-end:
		}
		s.mu.Lock()
		delete(s.watches, w)
		s.mu.Unlock()
		w.close()
	}()
	return response(c, http.StatusOK, struct {
		io.Reader
		io.Closer
	}{w, closer(sync.OnceFunc(func() { close(end) }))}, nil)
}

// A closer is a function that closes a body.
type closer func()

// Close implements io.Closer.
func (c closer) Close() error {
	c()
	return nil
}

// notify sends a change, if it is one of the objects that the watch selects.
func (w *watch) notify(c Change) {
	if c.Resource.GroupResource() != w.of.resource() {
		return
	}
	before, after := c.Before != nil && w.selects(c.Before), c.After != nil && w.selects(c.After)
	switch {
	case before && after:
		w.send("MODIFIED", c.After)
	case after:
		w.send("ADDED", c.After)
	case before:
		last := object.Copy(cmp.Or(c.After, c.Before))
		last.SetResourceVersion(strconv.FormatInt(c.version, 10))
		w.send("DELETED", last)
	}
}

// bookmark sends that all objects of a version were sent.
func (w *watch) bookmark(version int64) {
	w.send("BOOKMARK", object.New(map[string]any{
		"apiVersion": w.of.kind.GroupVersion().String(), "kind": w.of.kind.Kind,
		"metadata": map[string]any{
			"resourceVersion": strconv.FormatInt(version, 10), "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		},
	}))
}

func (w *watch) send(kind string, o *object.Object) {
	text, err := json.Marshal(map[string]any{"type": kind, "object": w.of.outline(w.of.kind.inVersion(o))})
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(append(text, '\n'))
	w.more.Broadcast()
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}

// Read implements io.Reader.
func (w *watch) Read(into []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.text.Len() == 0 && !w.closed {
		w.more.Wait()
	}
	if w.text.Len() == 0 {
		return 0, io.EOF
	}
	return w.text.Read(into)
}
