package informer

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/wire"
)

// A state is an object at some time.
type state struct {
	Namespace, Name, UID string
	Version              int
	Labeled              bool
	Owner                string // "" is none
}

// text returns the object as JSON. Its data has all of the state, so that an object of which a part is of another state is noticed.
func (s *state) text() string {
	metadata := map[string]any{"namespace": s.Namespace, "name": s.Name, "uid": s.UID, "resourceVersion": strconv.Itoa(s.Version), "labels": map[string]any{"app": "x"}}
	if s.Labeled {
		metadata["labels"] = map[string]any{"app": "x", "ours": s.UID}
	}
	if s.Owner != "" {
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Widget", "name": s.Owner, "uid": s.Owner, "controller": true}}
	}
	text, _ := json.Marshal(map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": map[string]any{"state": fmt.Sprint(*s)}})
	return string(text)
}

// A change is a step of a history: from one state of an object to another one. Nil is no object.
type change struct {
	version  int
	from, to *state
}

// event returns the watch event of a change for a selector of labels; "" if it has none.
func (c change) event(labeled bool) string {
	before := c.from != nil && (c.from.Labeled || !labeled)
	after := c.to != nil && (c.to.Labeled || !labeled)
	switch {
	case before && after:
		return event("MODIFIED", c.to.text())
	case after:
		return event("ADDED", c.to.text())
	case before:
		last := *c.from
		last.Version = c.version
		return event("DELETED", last.text())
	}
	return ""
}

// A history is an API server with ConfigMaps. It is the transport of its clients, without a network, so that the back-off of client-go takes
// no time in a synctest bubble.
type history struct {
	streaming bool // it knows streaming lists

	mu      sync.Mutex
	changed *sync.Cond
	changes []change
	now     map[string]*state
	version int
	oldest  int // watches cannot begin with an earlier version
	broken  int // how often all watches were broken
	how     int // how they were broken last
}

func newHistory(streaming bool) *history {
	h := &history{streaming: streaming, now: map[string]*state{}, version: 1}
	h.changed = sync.NewCond(&h.mu)
	return h
}

// set makes an object have another state; nil deletes it.
func (h *history) set(key string, to *state) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	c := change{h.version, h.now[key], to}
	if delete(h.now, key); to != nil {
		to.Version = h.version
		h.now[key] = to
	}
	h.changes = append(h.changes, c)
	h.changed.Broadcast()
}

// breakAll ends all watches; how says in which way.
func (h *history) breakAll(how int, forget bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken, h.how = h.broken+1, how; forget {
		h.oldest = h.version
	}
	h.changed.Broadcast()
}

// RoundTrip implements http.RoundTripper.
func (h *history) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	labeled := query.Get("labelSelector") == "ours"
	from, _ := strconv.Atoi(query.Get("resourceVersion"))
	stream := query.Get("sendInitialEvents") == "true"
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case query.Get("watch") == "":
		var items []string
		for _, s := range h.selected(labeled) {
			items = append(items, s.text())
		}
		return reply(r, 0, listed(strconv.Itoa(h.version), items...).body), nil
	case stream && !h.streaming:
		return reply(r, 422, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`), nil
	case !stream && from < h.oldest:
		return reply(r, 410, expired), nil
	}
	var first []string
	if stream {
		for _, s := range h.selected(labeled) {
			first = append(first, event("ADDED", s.text()))
		}
		from = h.version
		first = append(first, event("BOOKMARK", fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}`, from)))
	}
	body, to := io.Pipe()
	response := reply(r, 0, "")
	response.Body = body
	go h.watch(r, to, first, from, labeled, h.broken)
	return response, nil
}

func reply(r *http.Request, code int, body string) *http.Response {
	response := &http.Response{StatusCode: max(code, 200), Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	response.Body = io.NopCloser(strings.NewReader(body))
	return response
}

// selected returns the objects that a request selects. The caller has locked mu.
func (h *history) selected(labeled bool) []*state {
	var found []*state
	for _, key := range slices.Sorted(maps.Keys(h.now)) {
		if s := h.now[key]; s.Labeled || !labeled {
			found = append(found, s)
		}
	}
	return found
}

// watch sends the first events, and then those after a version, until the watch is broken.
func (h *history) watch(r *http.Request, to *io.PipeWriter, events []string, from int, labeled bool, broken int) {
	stop := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changed.Broadcast()
	}
	go func() {
		<-r.Context().Done()
		_ = to.CloseWithError(r.Context().Err())
		stop()
	}()
	for {
		for _, text := range events {
			if _, err := io.WriteString(to, text+"\n"); err != nil {
				return
			}
		}
		h.mu.Lock()
		for h.version == from && h.broken == broken && r.Context().Err() == nil {
			h.changed.Wait()
		}
		events = nil
		for _, c := range h.changes {
			if text := c.event(labeled); c.version > from && text != "" {
				events = append(events, text)
			}
		}
		from = h.version
		how, isBroken, bookmark := h.how, h.broken != broken || r.Context().Err() != nil, event("BOOKMARK", fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}`, from))
		h.mu.Unlock()
		if !isBroken {
			events = append(events, bookmark)
			continue
		}
		switch how {
		case 1: // within an event
			_, _ = io.WriteString(to, event("ADDED", item("x", "x", "1"))[:50])
		case 2:
			_, _ = io.WriteString(to, event("ERROR", expired))
		case 3: // after some of the events
			for _, text := range events[:len(events)/2] {
				_, _ = io.WriteString(to, text+"\n")
			}
		}
		_ = to.Close()
		return
	}
}

// A mirror follows the events of a cache, and notes what they must not be.
type mirror struct {
	mu      sync.Mutex
	objects map[string]string // resourceVersion and UID of each
	newest  map[string]int    // the version of the last event of each UID
	wrong   []string
	repeats bool // objects may be added again
}

func newMirror() *mirror {
	return &mirror{objects: map[string]string{}, newest: map[string]int{}}
}

func identity(o *object.Object) string { return o.GetResourceVersion() + " " + string(o.GetUID()) }

func (m *mirror) on(old, current *object.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := current
	if o == nil {
		o = old
	}
	key := object.KeyOf(o).String()
	_, had := m.objects[key]
	switch {
	case old == nil && had && !m.repeats:
		m.wrong = append(m.wrong, key+" was added again")
	case old != nil && !had && !m.repeats:
		m.wrong = append(m.wrong, key+" was not known before")
	}
	version, _ := strconv.Atoi(o.GetResourceVersion())
	if version < m.newest[string(o.GetUID())] && !m.repeats {
		m.wrong = append(m.wrong, fmt.Sprintf("%s went back to %d", key, version))
	}
	m.newest[string(o.GetUID())] = version
	if delete(m.objects, key); current != nil {
		m.objects[key] = identity(current)
	}
}

// A generator makes a random history.
type generator struct {
	*rand.Rand
	*history
	uids int
}

// step changes something.
func (g *generator) step() {
	namespace, name := fmt.Sprint("n", g.IntN(3)), fmt.Sprint("o", g.IntN(5))
	key := namespace + "/" + name
	g.mu.Lock()
	before := g.now[key]
	g.mu.Unlock()
	fresh := func() *state {
		g.uids++
		return &state{Namespace: namespace, Name: name, UID: fmt.Sprint("uid", g.uids), Labeled: g.IntN(2) == 0, Owner: []string{"", "u1", "u2"}[g.IntN(3)]}
	}
	switch n := g.IntN(20); {
	case before == nil && n < 17:
		g.set(key, fresh())
	case n < 4: // deleted and created again
		g.set(key, nil)
		g.set(key, fresh())
	case n < 7:
		g.set(key, nil)
	case n < 10: // loses the label, and gets it again at once
		for _, labeled := range []bool{false, true} {
			to := *before
			to.Labeled = labeled
			g.set(key, &to)
		}
	case n < 17:
		to := *before
		to.Labeled, to.Owner = g.IntN(2) == 0, []string{"", "u1", "u2"}[g.IntN(3)]
		g.set(key, &to)
	case n < 18: // a namespace is deleted
		g.mu.Lock()
		all := slices.Sorted(maps.Keys(g.now))
		g.mu.Unlock()
		for _, key := range all {
			if strings.HasPrefix(key, namespace+"/") {
				g.set(key, nil)
			}
		}
	default:
		g.breakAll(g.IntN(4), g.IntN(2) == 0)
	}
}

// Caches of all kinds have the objects that a cache of client-go has after a random history, and their events lead there.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) { follow(t, seed) })
		if t.Failed() {
			t.Fatalf("with the seed %d", seed)
		}
	}
}

func follow(t *testing.T, seed uint64) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), history: newHistory(seed%3 > 0)}
	config := &rest.Config{Host: "https://server", Transport: g.history, QPS: -1}
	client, err := wire.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	reference := dynamicinformer.NewFilteredDynamicInformer(theirs, configMaps, "", 0, cache.Indexers{}, nil).Informer()
	var running sync.WaitGroup
	running.Go(func() { reference.RunWithContext(t.Context()) })

	widened := false
	specs := map[string]Spec{
		"wide": {Resource: configMaps}, "listed": {Resource: configMaps, Listed: true},
		"narrow": labeledSpec, "narrow, then wide": labeledSpec, "metadata": {Resource: configMaps, MetadataOnly: true, Kind: "ConfigMap"},
	}
	handles, mirrors, factories := map[string]*Informer{}, map[string]*mirror{}, map[string]*Factory{}
	open := func(name string) {
		f := NewFactory(nil, slog.New(slog.DiscardHandler))
		f.REST = client
		handles[name], mirrors[name], factories[name] = f.Open(specs[name]), newMirror(), f
		if name == "narrow, then wide" {
			f.Widened = func(schema.GroupVersionResource) { widened = true }
			mirrors[name].repeats = true
		}
		if err := handles[name].Handle(mirrors[name].on); err != nil {
			t.Fatal(err)
		}
	}
	for range g.IntN(20) {
		g.step()
	}
	for name := range specs {
		open(name)
	}
	var wide *Informer
	for n := range 120 {
		g.step()
		switch g.IntN(6) {
		case 0:
			synctest.Wait()
		case 1:
			time.Sleep(time.Duration(g.IntN(3000)) * time.Millisecond)
		}
		if n == 60 {
			wide = factories["narrow, then wide"].Open(Spec{Resource: configMaps})
		}
		if wide != nil && g.IntN(50) == 0 { // the narrow handle may use its cache, or not yet
			wide.Close()
			wide = nil
		}
	}
	time.Sleep(5 * time.Minute) // all watches were begun again
	synctest.Wait()

	plain := map[string]map[string]any{}
	for _, o := range reference.GetStore().List() {
		u := o.(*unstructured.Unstructured)
		plain[u.GetNamespace()+"/"+u.GetName()] = u.Object
	}
	if len(plain) != len(g.now) {
		t.Errorf("client-go has %d objects, want %d", len(plain), len(g.now))
	}
	for name, i := range handles {
		g.compare(t, name, i, mirrors[name], plain, widened)
		i.Close()
	}
	if wide != nil {
		wide.Close()
	}
}

// compare compares a cache, its indexes and its events with a cache of client-go of all objects.
func (g *generator) compare(t *testing.T, name string, i *Informer, m *mirror, plain map[string]map[string]any, widened bool) {
	t.Helper()
	has := func(s *state) bool { return s.Labeled || !i.Narrow() }
	want, wantSeen := map[string]map[string]any{}, map[string]string{}
	owned, orphans := map[string][]string{}, []string(nil)
	for key, s := range g.now {
		if !has(s) {
			continue
		}
		want[key], wantSeen[key] = plain[key], fmt.Sprint(s.Version, " ", s.UID)
		if i.Spec().MetadataOnly {
			want[key] = maps.Clone(want[key])
			delete(want[key], "data")
		}
		if owned[s.Owner] = append(owned[s.Owner], key); s.Owner == "" && s.Namespace == "n1" && s.Labeled {
			orphans = append(orphans, key)
		}
	}
	got := map[string]map[string]any{}
	for _, o := range i.List() {
		got[object.KeyOf(o).String()] = o.Map()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the cache has %v, want %v", name, got, want)
	}
	for _, owner := range []string{"u1", "u2"} {
		if found := keys(i.OwnedBy(types.UID(owner))); !slices.Equal(found, slices.Sorted(slices.Values(owned[owner]))) {
			t.Errorf("%s: %s owns %v, want %v", name, owner, found, owned[owner])
		}
	}
	for _, text := range []string{"ours,app=x", "ours"} { // with an index by labels, and without
		selector, _ := labels.Parse(text)
		if found := keys(i.Orphans("n1", selector)); !slices.Equal(found, slices.Sorted(slices.Values(orphans))) {
			t.Errorf("%s: the orphans with %s are %v, want %v", name, text, found, orphans)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.wrong) > 0 {
		t.Errorf("%s: wrong events: %q", name, m.wrong)
	}
	if m.repeats && widened { // deletions may not have been passed
		maps.DeleteFunc(m.objects, func(key, _ string) bool { return wantSeen[key] == "" })
	}
	if !maps.Equal(m.objects, wantSeen) {
		t.Errorf("%s: the events lead to %v, want %v", name, m.objects, wantSeen)
	}
}
