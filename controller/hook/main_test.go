package hook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Objects out of YAML.
var parse, parseObject = objecttest.Parse, objecttest.ParseObject

var (
	podKind     = object.Kind{Version: "v1", Kind: "Pod"}
	statefulSet = object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	clusterKind = object.Kind{Group: "example.com", Version: "v1", Kind: "Zone"} // cluster-scoped
)

// newRequest is one about a namespaced parent without children. The kinds are declared.
func newRequest(t testing.TB) *Request {
	t.Helper()
	req := &Request{
		Controller: parseObject(t, `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: cats}}`),
		Parent:     parseObject(t, `{apiVersion: example.com/v1, kind: CatSet, metadata: {name: cats, namespace: default, uid: u1}, spec: {replicas: 3}, status: {ready: 1}}`),
		Children:   &object.Set{},
		Expect:     Expect{Kinds: map[object.Kind]bool{podKind: true, statefulSet: true, clusterKind: false}},
	}
	for _, kind := range []object.Kind{podKind, statefulSet, clusterKind} {
		req.Children.Declare(kind)
	}
	return req
}

// clusterScoped makes req one about a cluster-scoped parent.
func clusterScoped(req *Request) *Request {
	req.Parent.SetNamespace("")
	return req
}

// observing adds Pods of these names to the observed children.
func observing(t testing.TB, req *Request, names ...string) *Request {
	t.Helper()
	for _, name := range names {
		req.Children.Put(parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, namespace: default}, spec: {image: x}}`))
	}
	return req
}

func selector(t testing.TB, text string) labels.Selector {
	t.Helper()
	parsed, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := metav1.LabelSelectorAsSelector(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A program is a script whose one function is written in Go.
type program struct {
	ported   bool
	language string // which it pretends to be written in
	quoted   string // what it pretends to have in a string
	located  func() // is called with each error about the answer; may be nil
	call     func(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error)
}

func (p *program) Functions() []string     { return []string{Sync} }
func (p *program) Ported() bool            { return p.ported }
func (p *program) Language() string        { return p.language }
func (p *program) Quotes(text string) bool { return p.quoted == text }
func (p *program) ResultError(fn string, _ map[string]any, at engine.Path, msg, hint string) *engine.Error {
	if p.located != nil {
		p.located()
	}
	return &engine.Error{Kind: engine.KindResult, Func: fn, At: at, Msg: msg, Hint: hint}
}
func (p *program) LookupError(fn string, l engine.Lookup, msg, hint string) *engine.Error {
	return &engine.Error{Kind: engine.KindMissing, Pos: l.Pos, Func: fn, Msg: msg, Hint: hint}
}
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	return p.call(ctx, fn, arg, env)
}

// script is a hook whose function answers text, as YAML.
func script(t testing.TB, text string) *Script {
	t.Helper()
	answer := parse(t, text)
	return &Script{Function: Sync, Program: &program{call: func(context.Context, string, map[string]any, engine.Env) (map[string]any, error) {
		return answer, nil
	}}}
}

// ported is script with a program that was written for another host.
func ported(t testing.TB, text string) *Script {
	t.Helper()
	s := script(t, text)
	s.Program.(*program).ported = true
	return s
}

// serve starts a server and gives a webhook that calls it.
func serve(t testing.TB, handler http.HandlerFunc) *Webhook {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	h := &Webhook{URL: server.URL + "/sync"}
	t.Cleanup(h.Client.close)
	return h
}

// webhook is a hook whose server answers text, as YAML.
func webhook(t testing.TB, text string) *Webhook {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(data)
	})
}

// speakers are the kinds of hooks, by what they are called in tests.
var speakers = map[string]func(t testing.TB, text string) Hook{
	"script":  func(t testing.TB, text string) Hook { return script(t, text) },
	"ported":  func(t testing.TB, text string) Hook { return ported(t, text) },
	"webhook": func(t testing.TB, text string) Hook { return webhook(t, text) },
}

// The speakers that are judged strictly, leniently, and both.
var (
	strict  = []string{"script"}
	lenient = []string{"ported", "webhook"}
	all     = []string{"script", "ported", "webhook"}
)

// fault is err's text without what every error of a hook begins with. What breaks a rule must be a fault of the
// script, if it comes from one.
func fault(t testing.TB, h Hook, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *engine.Error
	switch h := h.(type) {
	case *Script:
		if !errors.As(err, &e) || e.Kind != engine.KindResult || e.Func != Sync {
			t.Errorf("error %v is a %T, want an *engine.Error of kind %s in %s", err, err, engine.KindResult, Sync)
		}
		return strings.TrimPrefix(err.Error(), "in sync: ")
	case *Webhook:
		return strings.TrimPrefix(err.Error(), "webhook "+h.URL+": ")
	}
	return err.Error()
}

// ask calls a hook for a test in which nothing goes wrong.
func ask(t testing.TB, h Hook, req *Request) *Response {
	t.Helper()
	resp, err := h.Call(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// unchanged remembers req and gives a function that fails the test if it has changed.
func unchanged(t testing.TB, req *Request) func() {
	t.Helper()
	snapshot := func() any {
		all := []any{object.CopyValue(req.Controller.Map()), object.CopyValue(req.Parent.Map()), req.Finalizing}
		for _, set := range []*object.Set{req.Children, req.Related} {
			if set == nil {
				continue
			}
			all = append(all, append([]object.Kind(nil), set.Kinds()...))
			for o := range set.All() {
				all = append(all, object.CopyValue(o.Map()))
			}
		}
		return all
	}
	before := snapshot()
	return func() {
		t.Helper()
		if after := snapshot(); !reflect.DeepEqual(before, after) {
			t.Errorf("the request was changed (-before +after):\n%s", cmp.Diff(before, after))
		}
	}
}

// children gives what is in a response, each as "Pod default/a".
func children(resp *Response) []string {
	var names []string
	for o := range resp.Children.All() {
		names = append(names, object.Describe(o))
	}
	return names
}
