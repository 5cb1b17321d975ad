package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/test/authority"
)

// cmdAggregated runs an aggregated API server for the resource things of the group things.$GROUP. It accepts all requests, except
// writes of ServiceAccounts, which it refuses as a server does that does not accept users who are impersonated. Nothing is stored.
func cmdAggregated(ts *testscript.TestScript, _ bool, _ []string) {
	group := "things." + ts.Getenv("GROUP")
	ca, err := authority.New("aggregated")
	ts.Check(err)
	pair, err := ca.Issue("localhost")
	ts.Check(err)
	certificate, err := pair.TLS()
	ts.Check(err)
	done := make(chan struct{})
	server := httptest.NewUnstartedServer(aggregated(group, done))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	ts.Defer(func() {
		close(done)
		server.Close()
	})

	w := worldOf(ts)
	objects, err := w.decode(ts, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: things}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.%[1]s}
spec:
  group: %[1]s
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {name: things, namespace: $NAME, port: %[2]s}
`, group, server.URL[strings.LastIndex(server.URL, ":")+1:]))
	ts.Check(err)
	for _, o := range objects {
		_, err := w.apply(o)
		ts.Check(err)
	}
	ts.Check(eventually(func() error {
		_, err := w.named("things." + group)
		return err
	}))
}

// aggregated serves the resource things of a group. Watches end when done is closed.
func aggregated(group string, done <-chan struct{}) http.Handler {
	version := group + "/v1"
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, code int, o map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	mux.HandleFunc("GET /apis/"+version, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []any{
			map[string]any{"name": "things", "singularName": "thing", "namespaced": true, "kind": "Thing", "verbs": []string{"create", "get", "list", "watch", "update", "delete"}},
		}})
	})
	list := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") != "" { // as an older server answers, so that the client lists
			answer(w, http.StatusUnprocessableEntity, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusUnprocessableEntity, "reason": "Invalid"})
			return
		}
		if r.URL.Query().Get("watch") != "" {
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-done:
			}
			return
		}
		answer(w, http.StatusOK, map[string]any{"kind": "ThingList", "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
	}
	mux.HandleFunc("GET /apis/"+version+"/things", list)
	mux.HandleFunc("GET /apis/"+version+"/namespaces/{namespace}/things", list)
	mux.HandleFunc("POST /apis/"+version+"/namespaces/{namespace}/things", func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("X-Remote-User")
		if strings.HasPrefix(user, "system:serviceaccount:") {
			answer(w, http.StatusForbidden, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusForbidden, "reason": "Forbidden",
				"message": "things are not created for " + user + ", which is impersonated"})
			return
		}
		o := &unstructured.Unstructured{}
		_ = json.NewDecoder(r.Body).Decode(&o.Object)
		o.SetUID("thing")
		o.SetResourceVersion("2")
		answer(w, http.StatusCreated, o.Object)
	})
	return mux
}
