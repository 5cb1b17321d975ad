package informer

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/wire"
)

// A scripted server gives one answer after the other to lists and to watches, as the transport of a client: it needs no network, so that
// the back-off of client-go takes no time in a synctest bubble. After the last watch it sends nothing.
type scripted struct {
	spec           Spec // of the cache
	mu             sync.Mutex
	lists, watches []answer
	accepted       []string // what the requests have asked for
}

// RoundTrip implements http.RoundTripper.
func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = append(s.accepted, r.Header.Get("Accept"))
	all := &s.lists
	if r.URL.Query().Get("watch") != "" {
		all = &s.watches
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	if len(*all) == 0 {
		from, to := io.Pipe()
		go func() {
			<-r.Context().Done()
			_ = to.CloseWithError(r.Context().Err())
		}()
		response.Body = from
		return response, nil
	}
	next := (*all)[0]
	*all = (*all)[1:]
	if next.code != 0 {
		response.StatusCode = next.code
	}
	for name, value := range next.headers {
		response.Header.Set(name, value)
	}
	response.Body = io.NopCloser(strings.NewReader(next.body))
	return response, nil
}

// cacheOf opens a cache of the objects of a scripted server. The channel gets the events.
func cacheOf(t *testing.T, s *scripted) (*Informer, <-chan string) {
	t.Helper()
	client, err := wire.NewClient(&rest.Config{Host: "https://server", Transport: s, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFactory(nil, slog.New(slog.DiscardHandler))
	f.REST = client
	f.Ownership = func(managedFields []byte) ownership.Fields { return ownership.Fields{Set: string(managedFields)} }
	s.mu.Lock()
	defer s.mu.Unlock() // nothing is answered before the handler gets events, so that it gets each
	s.spec.Resource, s.spec.Listed = configMaps, true
	i := f.Open(s.spec)
	seen := make(chan string, 1000)
	err = i.Handle(func(old, current *object.Object) {
		switch {
		case old == nil:
			seen <- fmt.Sprintf("added %s %s %s", current.GetName(), current.GetUID(), current.GetResourceVersion())
		case current == nil:
			seen <- fmt.Sprintf("deleted %s %s", old.GetName(), old.GetUID())
		case old.GetResourceVersion() != current.GetResourceVersion():
			seen <- fmt.Sprintf("updated %s %s %s from %s %s", current.GetName(), current.GetUID(), current.GetResourceVersion(), old.GetUID(), old.GetResourceVersion())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return i, seen
}

func expectEvents(t *testing.T, seen <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-seen; got != w {
			t.Errorf("got event %q, want %q", got, w)
		}
	}
	synctest.Wait()
	if len(seen) > 0 {
		t.Errorf("got event %q more", <-seen)
	}
}

func item(name, uid, version string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"default","uid":"%s","resourceVersion":"%s"}}`, name, uid, version)
}

func listed(version string, items ...string) answer {
	return answer{body: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"` + version + `"},"items":[` + strings.Join(items, ",") + `]}`}
}

func watched(events ...string) answer { return answer{body: strings.Join(events, "\n")} }

func event(kind, o string) string { return `{"type":"` + kind + `","object":` + o + `}` }

const expired = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`

// Whatever a server or a proxy answers that is no list, no object is taken for deleted.
func TestCacheKeepsObjectsUntilAListLacksThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		html := answer{headers: map[string]string{"Content-Type": "text/html"}, body: "<html>log in</html>"}
		whole := listed("9", item("a", "u", "5"), item("c", "w", "8"))
		s := &scripted{
			lists: []answer{
				listed("7", item("a", "u", "5"), item("b", "v", "6")),
				html, {body: "{}"}, {body: `{"error":"log in"}`}, {body: "null"}, {}, {body: whole.body[:len(whole.body)-30]}, {code: 503}, {code: 204},
				{body: expired}, {code: 410, body: expired}, {body: "k8s\x00"}, {body: whole.body + "x"}, whole,
			},
			watches: []answer{watched(event("ERROR", expired))},
		}
		i, seen := cacheOf(t, s)
		defer i.Close()
		expectEvents(t, seen, "added a u 5", "added b v 6", "deleted b v", "added c w 8")
		if n := len(s.lists); n > 0 {
			t.Errorf("%d lists were not requested", n)
		}
	})
}

// Watches that end at each event, or within one, lose no event.
func TestWatchesThatEndOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := listed("1")
		s := &scripted{lists: []answer{first}}
		var want []string
		for n := range 30 {
			version := fmt.Sprint(n + 2)
			s.watches = append(s.watches, watched(event("ADDED", item("o"+version, "u", version)), event("ADDED", item("x", "x", "1000"))[:40]))
			want = append(want, "added o"+version+" u "+version)
			s.lists = append(s.lists, listed(version)) // of a request that is not expected
		}
		i, seen := cacheOf(t, s)
		defer i.Close()
		expectEvents(t, seen, want...)
		if n := len(s.lists); n != 30 {
			t.Errorf("%d more lists were requested, want none", 30-n)
		}
	})
}

// An object that was created again while no watch ran is shown as another one, and a cache follows a server whose versions go back, as
// those of one that was restored.
func TestRecreatedObjectsAndOlderVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{
			lists: []answer{
				listed("900", item("a", "u", "800"), item("b", "v", "850")),
				listed("500", item("a", "u", "400"), item("b", "v2", "450")),
				listed("510", item("a", "u", "400"), item("b", "v2", "450")),
			},
			watches: []answer{
				watched(event("ERROR", expired)),
				watched(event("MODIFIED", item("a", "u", "505")), event("DELETED", item("b", "v2", "506")), event("ADDED", item("b", "v3", "507")), event("ERROR", expired)),
			},
		}
		i, seen := cacheOf(t, s)
		defer i.Close()
		expectEvents(t, seen, "added a u 800", "added b v 850",
			"updated a u 400 from u 800", "updated b v2 450 from v 850",
			"updated a u 505 from u 400", "deleted b v2", "added b v3 507",
			"updated a u 400 from u 505", "updated b v2 450 from v3 507")
		if !i.CaughtUp("default", "510") || i.CaughtUp("default", "900") {
			t.Error("the version of the cache is not that of the last list")
		}
	})
}

// What a field manager owns of an object that loses the label of a narrow cache, and gets it again at once, is that of the newer state.
func TestOwnedFieldsOfObjectsThatComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		managed := func(name, version string) string {
			return strings.Replace(item(name, name, version), `"namespace"`, `"managedFields":[{"manager":"m"}],"namespace"`, 1)
		}
		s := &scripted{lists: []answer{listed("1")}}
		var events []string
		for n := range 100 {
			name := fmt.Sprint("o", n)
			for round, kind := range []string{"ADDED", "DELETED", "ADDED"} {
				events = append(events, event(kind, managed(name, fmt.Sprint(10*n+round+2))))
			}
		}
		s.watches = []answer{watched(events...)}
		i, _ := cacheOf(t, s)
		defer i.Close()
		synctest.Wait()
		for _, o := range i.List() {
			if got := i.Owned(o).Set; got != `[{"manager":"m"}]` {
				t.Errorf("%s: the owned fields are %q", o.GetName(), got)
			}
		}
		another := configMap("default", "o0")
		another.SetUID("before")
		if got := i.Owned(another).Set; got != "" {
			t.Errorf("the owned fields of another object of the same name are %q", got)
		}
		if n := len(i.List()); n != 100 {
			t.Errorf("the cache has %d objects, want 100", n)
		}
	})
}

// A cache of metadata asks for no more, and has the same objects if the server sends more nevertheless.
func TestCacheOfMetadata(t *testing.T) {
	outline := func(name, version string) string {
		return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"%s","namespace":"default","uid":"%s","resourceVersion":"%s"}}`, name, name, version)
	}
	whole := func(name, version string) string {
		return strings.Replace(item(name, name, version), `"metadata"`, `"data":{"a":"b"},"metadata"`, 1)
	}
	without := func(name, version string) string {
		return strings.Replace(whole(name, version), `"kind":"ConfigMap","apiVersion":"v1",`, "", 1)
	}
	outlines := func(version string, items ...string) answer {
		return answer{body: `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"` + version + `"},"items":[` + strings.Join(items, ",") + `]}`}
	}
	for name, s := range map[string]*scripted{
		"metadata": {
			lists:   []answer{outlines("5", outline("a", "1"), outline("b", "2")), outlines("7", outline("b", "2"), outline("c", "6"))},
			watches: []answer{watched(event("MODIFIED", outline("a", "6")), event("BOOKMARK", outline("", "6")), event("ERROR", expired))},
		},
		"whole objects": {
			lists:   []answer{listed("5", whole("a", "1"), whole("b", "2")), listed("7", without("b", "2"), without("c", "6"))},
			watches: []answer{watched(event("MODIFIED", whole("a", "6")), event("BOOKMARK", whole("", "6")), event("ERROR", expired))},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s.spec = Spec{MetadataOnly: true, Kind: "ConfigMap"}
			i, seen := cacheOf(t, s)
			defer i.Close()
			expectEvents(t, seen, "added a a 1", "added b b 2", "updated a a 6 from a 1", "deleted a a", "added c c 6")
			for _, o := range i.List() {
				want := fmt.Sprintf("map[apiVersion:v1 kind:ConfigMap metadata:map[name:%s namespace:default resourceVersion:%s uid:%[1]s]]", o.GetName(), o.GetResourceVersion())
				if got := fmt.Sprint(o.Map()); got != want {
					t.Errorf("%s: the cache has %s, want %s", name, got, want)
				}
			}
			const list, watch = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
			if got, want := s.accepted, []string{list, watch, list, watch}; !slices.Equal(got, want) {
				t.Errorf("%s: the requests ask for %q, want %q", name, got, want)
			}
		})
	}
}

// The objects of a list get the kind of the list, wherever it is in the text.
func TestKindsOfItems(t *testing.T) {
	const items = `"items":[{"metadata":{"name":"a"}},{"kind":"Other","metadata":{"name":"b"}},{"apiVersion":"v2","kind":"Other"}]`
	for _, text := range []string{
		`{"kind":"PodList","apiVersion":"v1",` + items + `}`, `{` + items + `,"kind":"PodList","apiVersion":"v1"}`, `{"kind":"PodList",` + items + `,"apiVersion":"v1"}`,
	} {
		l, err := newDecoder(Spec{}, nil).list(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range l.Items {
			got = append(got, o.GetAPIVersion()+" "+o.GetKind())
		}
		if want := []string{"v1 Pod", " Other", "v2 Other"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
