package strays

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	"metascript/controller/claim"
	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/selection"
	"metascript/controller/wire"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// An owner records the names that it gets.
type owner struct {
	kinds   []claim.Cache
	parents []*object.Object
	noted   []string
	config  *rest.Config // of the server
}

func (w *owner) Kinds() []claim.Cache               { return w.kinds }
func (w *owner) Parents() iter.Seq[*object.Object]  { return slices.Values(w.parents) }
func (w *owner) Cached(schema.GroupVersionResource) {}
func (w *owner) Note(o *object.Object)              { w.noted = append(w.noted, object.Describe(o)) }

// parent returns a parent in a namespace.
func parent(namespace, uid string) *object.Object {
	o := &object.Object{}
	o.SetNamespace(namespace)
	o.SetName(uid)
	o.SetUID(types.UID(uid))
	return o
}

// item returns the metadata of a ConfigMap that a parent owns.
func item(namespace, name string, change func(*metav1.PartialObjectMetadata)) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	controls := true
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "u1", Controller: &controls}}
	if change != nil {
		change(&o)
	}
	return o
}

// A server serves lists of the metadata of ConfigMaps, two in each answer.
type server struct {
	items    []metav1.PartialObjectMetadata
	json     bool                                    // it does not have the format of Protobuf
	fail     func(w http.ResponseWriter, n int) bool // answers the request with the number n, from 0, in another way
	requests []string                                // namespaces and tokens of the requests
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "namespaces/"), "configmaps")
	namespace = strings.TrimSuffix(namespace, "/")
	query := r.URL.Query()
	n := len(s.requests)
	s.requests = append(s.requests, strings.TrimSpace(namespace+" "+query.Get("continue")))
	if s.fail != nil && s.fail(w, n) {
		return
	}
	if query.Get("labelSelector") != "!controller-uid" || query.Get("limit") == "" || !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		http.Error(w, "another request than expected", http.StatusBadRequest)
		return
	}
	var list metav1.PartialObjectMetadataList
	for _, o := range s.items {
		if namespace == "" || o.Namespace == namespace {
			list.Items = append(list.Items, o)
		}
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(query.Get("continue"), "at-"))
	if list.Items = list.Items[min(from, len(list.Items)):]; len(list.Items) > 2 {
		list.Items, list.Continue = list.Items[:2], fmt.Sprint("at-", from+2)
	}
	if s.json {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&list)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_, _ = w.Write(protobuf(&list))
}

// protobuf encodes a list as API servers do.
func protobuf(list *metav1.PartialObjectMetadataList) []byte {
	raw, err := list.Marshal()
	if err != nil {
		panic(err)
	}
	unknown, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Raw: raw}).Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), unknown...)
}

// status answers a request with an error.
func status(w http.ResponseWriter, code int, reason metav1.StatusReason, next string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code),
		Message: "no", ListMeta: metav1.ListMeta{Continue: next},
	})
}

// newFinder returns a Finder for an owner with a parent in default, and whose cache of ConfigMaps has only those with the label.
func newFinder(t testing.TB, log *bytes.Buffer, s http.Handler) (*Finder, *owner) {
	t.Helper()
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	config := &rest.Config{Host: front.URL, QPS: -1}
	client, err := wire.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"})
	cache := informer.NewFactory(dynamic, slog.New(slog.DiscardHandler)).Open(informer.Spec{Resource: configMaps, Namespaced: true, Label: claim.GeneratedLabel})
	t.Cleanup(cache.Close)
	w := &owner{kinds: []claim.Cache{{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Informer: cache}}, parents: []*object.Object{parent("default", "u1")}, config: config}
	f := New()
	f.Client, f.Log, f.Leads = client, slog.New(slog.NewTextHandler(log, nil)), func() bool { return true }
	f.Owners = func() []Owner { return []Owner{w, &owner{}} }
	return f, w
}

func TestOwnedObjectsWithoutLabelAreNoted(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var log bytes.Buffer
		f, w := newFinder(t, &log, &server{json: asJSON, items: []metav1.PartialObjectMetadata{
			item("default", "stray", nil),
			item("default", "foreign", func(o *metav1.PartialObjectMetadata) { o.OwnerReferences = nil }),
			item("default", "of-another", func(o *metav1.PartialObjectMetadata) { o.OwnerReferences[0].UID = "u2" }),
			item("default", "not-controlled", func(o *metav1.PartialObjectMetadata) { o.OwnerReferences[0].Controller = nil }),
			item("default", "going", func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Unix(1, 0)) }),
			item("other", "elsewhere", nil),
			item("default", "second", func(o *metav1.PartialObjectMetadata) {
				o.OwnerReferences = append([]metav1.OwnerReference{{Kind: "Node", UID: "n"}}, o.OwnerReferences...)
			}),
		}})
		f.find(t.Context())
		if diff := cmp.Diff([]string{"ConfigMap default/stray", "ConfigMap default/second"}, w.noted); diff != "" || log.Len() > 0 {
			t.Errorf("as JSON: %v: noted (-want +got):\n%s%s", asJSON, diff, &log)
		}
	}
}

// Only what can have strays is listed.
func TestNamespacesThatAreListed(t *testing.T) {
	var many []*object.Object
	for i := range maxNamespaces + 1 {
		many = append(many, parent(fmt.Sprint("n", i), fmt.Sprint("u", i)))
	}
	for name, c := range map[string]struct {
		parents []*object.Object
		watched selection.Namespaces
		want    []string
	}{
		"no parents":               {},
		"one namespace":            {parents: []*object.Object{parent("a", "u1"), parent("a", "u2")}, want: []string{"a"}},
		"two namespaces":           {parents: []*object.Object{parent("b", "u1"), parent("a", "u2")}, want: []string{"a", "b"}},
		"many namespaces":          {parents: many, want: []string{""}},
		"many that are watched":    {parents: many, watched: selection.Namespaces{"n1", "n2"}, want: []string{"n1", "n2"}},
		"a parent of no namespace": {parents: []*object.Object{parent("a", "u1"), parent("", "u2")}, want: []string{""}},
	} {
		s := &server{}
		f, w := newFinder(t, &bytes.Buffer{}, s)
		f.Namespaces, w.parents = c.watched, c.parents
		f.find(t.Context())
		if diff := cmp.Diff(c.want, s.requests); diff != "" {
			t.Errorf("%s: the requests (-want +got):\n%s", name, diff)
		}
	}
}

// A list that the API server cannot continue goes on with the token of its error, or is given up.
func TestListExpires(t *testing.T) {
	var items []metav1.PartialObjectMetadata
	for i := range 5 {
		items = append(items, item("default", fmt.Sprint("s", i), nil))
	}
	for next, want := range map[string]string{
		"at-2": "ConfigMap default/s0, ConfigMap default/s1, ConfigMap default/s2, ConfigMap default/s3, ConfigMap default/s4",
		"":     "ConfigMap default/s0, ConfigMap default/s1",
	} {
		var log bytes.Buffer
		s := &server{items: items, fail: func(w http.ResponseWriter, n int) bool {
			if n == 1 {
				status(w, http.StatusGone, metav1.StatusReasonExpired, next)
			}
			return n == 1
		}}
		f, w := newFinder(t, &log, s)
		f.find(t.Context())
		if got := strings.Join(w.noted, ", "); got != want || (next == "") != strings.Contains(log.String(), "not looked for") {
			t.Errorf("the token %q: noted %s, want %s; the log is %q", next, got, want, &log)
		}
	}
}

// An object that is deleted, and created again with the same name between two parts of a list, and one that loses its label, are noted:
// the parent reads them again before it releases them.
func TestObjectsChangeDuringTheList(t *testing.T) {
	s := &server{items: []metav1.PartialObjectMetadata{item("default", "a", nil), item("default", "b", nil), item("default", "c", nil)}}
	s.fail = func(_ http.ResponseWriter, n int) bool {
		if n == 1 {
			s.items = []metav1.PartialObjectMetadata{item("default", "b", nil), item("default", "d", nil), item("default", "a", nil), item("default", "e", nil)}
		}
		return false
	}
	f, w := newFinder(t, &bytes.Buffer{}, s)
	f.find(t.Context())
	want := []string{"ConfigMap default/a", "ConfigMap default/b", "ConfigMap default/a", "ConfigMap default/e"}
	if diff := cmp.Diff(want, w.noted); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}

func TestAnswersThatAreNoLists(t *testing.T) {
	answers := map[string]func(w http.ResponseWriter){
		"forbidden":  func(w http.ResponseWriter) { status(w, http.StatusForbidden, metav1.StatusReasonForbidden, "") },
		"of a proxy": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); fmt.Fprint(w, "<html>") },
		"no content": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") },
		"only start": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			fmt.Fprint(w, "k8s\x00")
		},
		"cut": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			fmt.Fprint(w, "k8s\x00\x12\x7f\x00")
		},
		"no Protobuf": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			fmt.Fprint(w, "k8s\x00\xff\xff")
		},
	}
	for name, answer := range answers {
		var log bytes.Buffer
		f, w := newFinder(t, &log, &server{fail: func(w http.ResponseWriter, _ int) bool { answer(w); return true }})
		f.find(t.Context())
		if len(w.noted) > 0 || !strings.Contains(log.String(), "children without the label controller-uid are not looked for; trying again") {
			t.Errorf("%s: noted %v, the log is %q", name, w.noted, &log)
		}
	}
	var log bytes.Buffer
	f, _ := newFinder(t, &log, &server{fail: func(w http.ResponseWriter, _ int) bool {
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		return true
	}})
	if f.find(t.Context()); log.Len() > 0 {
		t.Errorf("a kind that is not served any more is logged: %s", &log)
	}
}

// Several controllers that begin one after the other cause one list; without a controller that begins there is one in each period.
func TestWhenStraysAreLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		f := New()
		f.Leads, f.Owners = func() bool { return true }, func() []Owner { lists++; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), 2*period+period/2)
		defer cancel()
		f.Want()
		f.Want()
		f.Run(ctx)
		if lists != 3 {
			t.Errorf("they were looked for %d times, want 3", lists)
		}
	})
}
