package schemas

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// responses are what an API server says about a custom resource, by path.
var responses = map[string]string{
	"/api":  `{"kind": "APIVersions", "versions": []}`,
	"/apis": `{"kind": "APIGroupList", "groups": [{"name": "example.com", "versions": [{"groupVersion": "example.com/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "example.com/v1", "version": "v1"}}]}`,
	"/apis/example.com/v1": `{"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [
		{"name": "widgets", "kind": "Widget", "namespaced": true, "verbs": ["get", "list"]}, {"name": "widgets/status", "kind": "Widget", "namespaced": true, "verbs": ["get"]}]}`,
	"/openapi/v3/apis/example.com/v1": `{"components": {"schemas": {"com.example.v1.Widget": {
		"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
		"properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": {"type": "object", "properties": {
			"size": {"type": "integer"}, "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
			"note": {"type": "string", "nullable": true}, "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}},
			"one": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
		}}}}}}}`,
}

// Without the permission to list CustomResourceDefinitions, custom resources are validated by the schemas that the API server publishes.
func TestClusterWithoutPermissionToListDefinitions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if text, ok := responses[r.URL.Path]; ok {
			_, _ = w.Write([]byte(text))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`))
	}))
	defer server.Close()
	s, err := Cluster(t.Context(), &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	widgets := kind(t, s, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	if widgets.Plural != "widgets" || !widgets.HasStatus() || widgets.Custom {
		t.Errorf("Widget is %+v", widgets)
	}
	const head = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: "
	for text, want := range map[string][]string{
		head + "{size: 1, port: a, note: null, open: {a: b, c: {d: e}}, one: {a: b}}}": nil,
		head + "{size: a, port: {}, open: {a: 1}, sizee: 1}}": {
			`spec.open.a: want a string, got 1: put it in quotes`, `spec.port: want an integer or a string, got an object`,
			`spec.size: want an integer, got the string "a"`, `spec.sizee: unknown field; did you mean "size"?`,
		},
	} {
		var got []string
		for _, p := range widgets.Validate(object(t, text)) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, of := range []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Gadget"}, pods} {
		if _, err := s.Kind(of); err == nil || !strings.HasPrefix(err.Error(), "there is no kind "+of.Kind) {
			t.Errorf("%s: error %v", of, err)
		}
	}
}
