package informer

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/wire"
	"metascript/engine/packed"
)

// decoded is what apimachinery makes of the text of an object, without managedFields.
func decoded(text []byte) (map[string]any, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	return content, nil
}

// FuzzDecode compares objects with those that apimachinery decodes, also as they are written back.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"manager":"x"}],"labels":{"a":"b"}},"spec":{"n":1,"f":1.0,"e":1e3}}`,
		`{"a":9223372036854775807,"b":9223372036854775808,"c":-9223372036854775809,"d":1e400}`, `{"a":{"b":1,"b":2},"a":{"c":3}}`,
		`{"metadata":null}`, `{"metadata":{"managedFields":null}}`, `{"metadata":[{"managedFields":1}]}`, "{\"a\":\"\xff\\ud83d\"}", `{"managedFields":[1]}`,
		`{"metadata":{"metadata":{"managedFields":[1]}},"a":{"managedFields":2}}`, `{"metadata":{"managedFields":1},"metadata":{"name":"a"}}`, `{"a":-0,"b":0.0,"c":-0.0}`,
		`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `{"a":"` + strings.Repeat("x", 70000) + `"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, wantErr := decoded(text)
		if want == nil && wantErr == nil {
			return // null
		}
		made, err := newDecoder(Spec{}, nil).object(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: got error %v, want %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		got := objectOf(made)
		if !reflect.DeepEqual(got.Map(), want) {
			t.Fatalf("%q: got %v, want %v", text, got.Map(), want)
		}
		plain := object.New(want)
		if a, b := fmt.Sprint(plain.GetName(), plain.GetUID(), plain.GetLabels(), plain.GetOwnerReferences(), plain.GetFinalizers(), plain.GetDeletionTimestamp(), object.ControllerOf(plain)),
			fmt.Sprint(got.GetName(), got.GetUID(), got.GetLabels(), got.GetOwnerReferences(), got.GetFinalizers(), got.GetDeletionTimestamp(), object.ControllerOf(got)); a != b && object.ControllerOf(got) == nil {
			t.Fatalf("%q: the getters return %s, want %s", text, b, a)
		}
		sent, err := got.MarshalJSON()
		wanted, wantedErr := (&unstructured.Unstructured{Object: want}).MarshalJSON()
		if err != nil || wantedErr == nil && string(sent)+"\n" != string(wanted) {
			t.Fatalf("%q: written back as %s, %v, want %s", text, sent, err, wanted)
		}
	})
}

func TestEvents(t *testing.T) {
	const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}`
	for text, want := range map[string]string{
		`{"type":"ADDED","object":` + pod + `}`:                                                                        "ADDED a",
		`{"type":"MODIFIED","object":` + pod + "}\n":                                                                   "MODIFIED a",
		` { "object" : ` + pod + ` , "type" : "DELETED" } `:                                                            "DELETED a",
		`{"type":"ADDED","object":` + pod + `,"more":1}`:                                                               "ADDED a",
		`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}}`:                        "BOOKMARK b",
		`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired","message":"gone"}}`: "ERROR gone",
		`{"type":"OTHER","object":` + pod + `}`:                                                                        `decode a watch event: its type is "OTHER"`,
		`{"type":"ADDED","object":{"metadata":{"name":"a"}}}`:                                                          "decode a watch event: the object has no kind",
		`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}`:                                             "decode a watch event: the object has no apiVersion",
		`{"type":"ADDED","object":[]}`:                                                                                 "decode a watch event: invalid character '[' at byte 0 of the JSON text: want an object",
		`{"type":"ADDED"}`:                                                                                             "decode a watch event: the JSON text ends too early",
		`{"type":"ADDED","object":{"kind":"Pod"`:                                                                       "unexpected EOF",
		`{"type":"ADDED","object":{"kind":"Po`:                                                                         "unexpected EOF",
		``:                                                                                                             "EOF",
	} {
		reader := &eventReader{io.NopCloser(nil), packed.NewStream(strings.NewReader(text)), newDecoder(Spec{}, nil)}
		kind, o, err := reader.Decode()
		got := fmt.Sprint(err)
		switch o := o.(type) {
		case *cached:
			got = string(kind) + " " + o.GetName()
		case *metav1.Status:
			got = string(kind) + " " + o.Message
			if !apierrors.IsResourceExpired(apierrors.FromObject(o)) {
				t.Errorf("%s: the error is not that of the API server", text)
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Events follow each other with or without white space, and are read in pieces of any size.
func TestEventsInPieces(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p%d","note":"}]\"\\{ä%s"}}}%s`, i, strings.Repeat("x", i*i), []string{"\n", "", " \r\n"}[i%3])
	}
	for size := range 40 {
		reader := &eventReader{io.NopCloser(nil), packed.NewStream(pieces{strings.NewReader(text.String()), size + 1}), newDecoder(Spec{}, nil)}
		for i := range 50 {
			_, o, err := reader.Decode()
			if err != nil || o.(*cached).GetName() != fmt.Sprintf("p%d", i) {
				t.Fatalf("in pieces of %d, event %d: got %v, %v", size+1, i, o, err)
			}
		}
		if _, _, err := reader.Decode(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	}
}

// pieces reads at most n bytes at a time.
type pieces struct {
	from io.Reader
	n    int
}

func (p pieces) Read(b []byte) (int, error) { return p.from.Read(b[:min(p.n, len(b))]) }

func TestLists(t *testing.T) {
	for name, text := range map[string]string{
		"of a kind of Kubernetes": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a","managedFields":[]},"spec":{}},{"metadata":{"name":"b"}}]}`,
		"of custom resources":     `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}],"kind":"PodList","metadata":{"continue":"c","resourceVersion":"7"}}`,
		"with the kind at the end": ` { "items" : [ {"metadata":{"name":"a"},"spec":{}} , {"metadata":{"name":"b"}} ] , "unknown" : [1,{"items":2}] , "kind" : "PodList" ,
			"apiVersion" : "v1", "metadata" : {"resourceVersion":"7","continue":"c"} } `,
	} {
		l, err := newDecoder(Spec{}, nil).list(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := []map[string]any{
			{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{}},
			{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "b"}},
		}
		var got []map[string]any
		for _, o := range l.Items {
			got = append(got, o.Map())
		}
		if diff := cmp.Diff(want, got); diff != "" || l.ResourceVersion != "7" || l.Continue != "c" {
			t.Errorf("%s: %+v (-want +got):\n%s", name, l.ListMeta, diff)
		}
	}
	for text, want := range map[string]string{
		`{"kind":"PodList","items":[{"metadata":{}}`: "decode a list: unexpected EOF",
		`{"items":[{"a":}]}`:                         "decode a list: invalid character '}' at byte 5 of the JSON text: want a value",
		`[]`:                                         "decode a list: the JSON text has another form than expected: '['",
		``:                                           "decode a list: unexpected EOF",
	} {
		if _, err := newDecoder(Spec{}, nil).list(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if l, err := newDecoder(Spec{}, nil).list(strings.NewReader(`{"kind":"PodList","items":null}`)); err != nil || len(l.Items) != 0 {
		t.Errorf("null: %v, %v", l, err)
	}
}

func TestMetadataOnlyKeepsOnlyMetadata(t *testing.T) {
	pods := Spec{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, MetadataOnly: true, Kind: "Pod"}
	o, err := newDecoder(pods, nil).object([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[]},"spec":{"kind":"x"},"status":[}`))
	if err == nil {
		t.Errorf("what is dropped need not be valid: %v", o)
	}
	o, err = newDecoder(pods, nil).object([]byte(`{"spec":{"kind":"x"},"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[],"labels":{"spec":"y"}},"status":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"name": "a", "labels": map[string]any{"spec": "y"}}}
	if diff := cmp.Diff(want, o.Map()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An oldServer does not know streaming lists, and its watches end with 410 once.
type oldServer struct {
	mu       sync.Mutex
	requests []string
	expired  bool
	goOn     chan struct{} // is closed when the first watch may send events
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case query.Get("sendInitialEvents") != "":
		s.requests = append(s.requests, "stream")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"sendInitialEvents is forbidden"}`)
	case query.Get("watch") == "":
		s.requests = append(s.requests, "list")
		_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"5","managedFields":[{"manager":"m"}]}}]}`)
	case !s.expired:
		s.expired = true
		s.requests = append(s.requests, "watch")
		w.(http.Flusher).Flush()
		<-s.goOn
		_, _ = io.WriteString(w, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","namespace":"default","uid":"b","resourceVersion":"8"}}}`+"\n"+
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}`+"\n")
	default:
		s.requests = append(s.requests, "watch")
		w.(http.Flusher).Flush()
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
	}
}

func TestServerWithoutStreamingLists(t *testing.T) {
	old := &oldServer{goOn: make(chan struct{})}
	server := httptest.NewServer(old)
	defer server.Close()
	client, err := wire.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFactory(nil, slog.New(slog.DiscardHandler))
	f.REST = client
	var mu sync.Mutex
	var fields []string
	f.Ownership = func(text []byte) ownership.Fields {
		mu.Lock()
		defer mu.Unlock()
		fields = append(fields, string(text))
		return ownership.Fields{Set: "s"}
	}
	i := f.Open(Spec{Resource: configMaps})
	seen := make(chan string, 16)
	err = i.Handle(func(before, current *object.Object) {
		switch {
		case before == nil:
			seen <- "added " + current.GetName()
		case current == nil:
			seen <- "deleted " + before.GetName()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// The list after the error 410 does not have b.
	for _, want := range []string{"added a", "added b", "deleted b"} {
		if got := <-seen; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if want == "added a" {
			close(old.goOn)
		}
	}
	if kind := i.Get(object.Key{Namespace: "default", Name: "a"}).GroupVersionKind().String(); kind != "/v1, Kind=ConfigMap" {
		t.Errorf("an item of a list has the kind %s", kind)
	}
	if i.Owned(i.Get(object.Key{Namespace: "default", Name: "a"})).Set != "s" {
		t.Error("the managedFields were not read")
	}
	i.Close()
	mu.Lock()
	defer mu.Unlock()
	if fields[0] != `[{"manager":"m"}]` {
		t.Errorf("managedFields: %v", fields)
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	if got := strings.Join(old.requests[:3], " "); got != "stream list watch" {
		t.Errorf("requests: %v", old.requests)
	}
}

func TestErrorsOfRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
	}))
	defer server.Close()
	client, err := wire.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := &reading{client, Spec{Resource: configMaps}, nil}
	_, listErr := s.List(metav1.ListOptions{})
	_, watchErr := s.Watch(metav1.ListOptions{})
	if !apierrors.IsForbidden(listErr) || !apierrors.IsForbidden(watchErr) || listErr.Error() != "no" {
		t.Errorf("got %v and %v, want those of the API server", listErr, watchErr)
	}
}

var _ watch.Decoder = (*eventReader)(nil)

// client-go can compare what is cached with copies, to find code that changes it.
func TestCopiesOfCachedObjectsAreEqual(t *testing.T) {
	o, err := newDecoder(Spec{}, nil).object(podText(false))
	if err != nil {
		t.Fatal(err)
	}
	o.fields = &ownership.Fields{Set: "x"}
	if copied := o.DeepCopyObject(); !reflect.DeepEqual(copied, o) || copied == runtime.Object(o) {
		t.Errorf("got %#v, want a copy of %#v", copied, o)
	}
}
