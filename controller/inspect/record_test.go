package inspect

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/recording"
	"metascript/controller/redact"
)

// recordedOf returns a reconcile of a parent with a ConfigMap as its child.
func recordedOf(t *testing.T, namespace string) *observe.Reconcile {
	children := &object.Set{}
	children.Put(object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m", "namespace": namespace}}))
	parent := objecttest.Packed(t, object.New(map[string]any{"apiVersion": objecttest.WidgetRef("", "").Kind.GroupVersion().String(), "kind": "Widget", "metadata": map[string]any{"name": "web", "namespace": namespace}}))
	return &observe.Reconcile{
		About: observe.About{Controller: "c", Parent: objecttest.WidgetRef(namespace, "web")}, Redactor: redact.New(),
		Calls: []observe.Call{{Name: "sync", Request: &hook.Request{Parent: parent, Children: children}}},
	}
}

func TestWhoMayRecord(t *testing.T) {
	f := newFixture(t, "jane list compositecontrollers", "jane list decoratorcontrollers", "jane list widgets ns", "jane list widgets other", "jane list configmaps ns", "john list compositecontrollers")
	live := &recording.Live{}
	f.handler.ServeRecordings(Recordings{Program: "v1", Live: live})
	ask := func(ctx context.Context, user, query string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/record"+query, nil)
		r.Header.Set("Authorization", "Bearer of-"+user)
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		user, query string
		code        int
		want        string
	}{
		{"john", "", 403, `user \"john\" may not list decoratorcontrollers.metacontroller.k8s.io`},
		{"joe", "?controller=c", 403, `user \"joe\" may not list compositecontrollers`},
		{"jane", "?controller=c", 404, `no controller \"c\" runs on this server`},
		{"jane", "?for=x", 400, "the parameter for is"},
		{"jane", "?for=25h", 400, "of at most 24h"},
		{"jane", "?bytes=-1", 400, "the parameter bytes is"},
		{"jane", "?name=x", 400, "there is no parameter"},
	} {
		w := ask(t.Context(), c.user, c.query)
		if text := w.Body.String(); w.Code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s%s: %d %s, want %d with %s", c.user, c.query, w.Code, text, c.code, c.want)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Second)
	defer stop()
	recorded := make(chan *httptest.ResponseRecorder)
	go func() { recorded <- ask(ctx, "jane", "?for=3s") }()
	ended := time.After(time.Second)
	for waiting := true; waiting; { // until the recording has begun, and no longer
		live.Reconciled(recordedOf(t, "ns"))
		live.Reconciled(recordedOf(t, "other")) // jane may not list its ConfigMap
		select {
		case <-ended:
			waiting = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	w := <-recorded
	r, err := recording.NewReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil || w.Code != 200 || w.Header().Get("Content-Type") != "application/gzip" || r.Header().Program != "v1" {
		t.Fatalf("got %d %v, error %v", w.Code, w.Header(), err)
	}
	for {
		line, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		if line.Reconcile != nil && line.Reconcile.Parent.Namespace != "ns" {
			t.Errorf("the recording has %+v", line.Reconcile)
		}
		if line.End != nil && (line.End.Denied == 0 || line.End.Reconciles == 0 || line.End.Why != recording.WhyTime) {
			t.Errorf("the end is %+v", line.End)
		}
	}
}
