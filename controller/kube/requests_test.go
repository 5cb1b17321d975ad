package kube

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"metascript/controller/object"
	"metascript/controller/wire"
)

// answering returns requests for ConfigMaps to a server that answers each request so, and the last request.
func answering(t *testing.T, code int, body string) (objects, *string) {
	t.Helper()
	var last string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		last = fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), sent)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	client, err := wire.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return objects{client, []string{"api", "v1", "namespaces", "default", "configmaps"}}, &last
}

const storedConfigMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"2","managedFields":[{"manager":"m"}]}}`

func TestRequests(t *testing.T) {
	ctx, c := t.Context(), object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}, "data": map[string]any{"a": "<b>"}})
	const text = `{"apiVersion":"v1","data":{"a":"\u003cb\u003e"},"kind":"ConfigMap","metadata":{"name":"c"}}`
	const at = "/api/v1/namespaces/default/configmaps"
	o, last := answering(t, http.StatusOK, storedConfigMap)
	for _, w := range []struct {
		want string
		do   func() (*object.Object, error)
	}{
		{"POST " + at + "?fieldManager=m application/json " + text, func() (*object.Object, error) { return o.create(ctx, c, options{manager: "m"}) }},
		{"PUT " + at + "/c?dryRun=All application/json " + text, func() (*object.Object, error) { return o.update(ctx, c, options{dryRun: true}) }},
		{"PUT " + at + "/c/status application/json " + text, func() (*object.Object, error) { return o.update(ctx, c, options{}, "status") }},
		{"PATCH " + at + "/c?fieldManager=m&force=true application/apply-patch+yaml " + text, func() (*object.Object, error) { return o.apply(ctx, c, options{manager: "m", force: true}) }},
	} {
		stored, err := w.do()
		if err != nil || *last != w.want {
			t.Errorf("got %s, %v; want %s", *last, err, w.want)
			continue
		}
		if _, found := stored.At("metadata", "managedFields"); found || stored.GetResourceVersion() != "2" || stored.Packed().IsZero() {
			t.Errorf("%s: the result is %v", w.want, stored.Map())
		}
	}
	found, err := o.get(ctx, "c")
	if err != nil || *last != "GET "+at+"/c  " || len(found.GetManagedFields()) != 1 {
		t.Errorf("get: %s, %v", *last, err)
	}
	found.SetFinalizers(nil) // it can be changed
	if _, err := o.get(ctx, ""); err == nil || err.Error() != "the object has no name" {
		t.Errorf("without a name: %v", err)
	}
}

// The answer to a deletion is not read: it can be the object, a Status, or nothing.
func TestDeletion(t *testing.T) {
	for _, body := range []string{storedConfigMap, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, ""} {
		o, _ := answering(t, http.StatusOK, body)
		if err := o.delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	for _, c := range []struct {
		code       int
		body, want string
	}{
		{http.StatusOK, `{"apiVersion":`, "the answer of the API server is not an object"},
		{http.StatusOK, "", "the answer of the API server is not an object"},
		{http.StatusOK, `{"message":"log in"}`, `the answer of the API server is not an object: its kind is ""`},
		{http.StatusOK, `{"kind":"Status","apiVersion":"v1","status":"Failure"}`, `the answer of the API server is not an object: its kind is "Status"`},
		{http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"it has changed"}`, "it has changed"},
		{http.StatusBadGateway, "<html>", "an error on the server"},
	} {
		o, _ := answering(t, c.code, c.body)
		_, err := o.update(t.Context(), object.New(map[string]any{"metadata": map[string]any{"name": "c"}}), options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %q: %v, want %q", c.code, c.body, err, c.want)
		}
	}
}

// A name cannot make a request one for something else.
func TestNamesAreSegmentsOfPaths(t *testing.T) {
	for _, name := range []string{"..", "../secrets/s", "c/status", "%2e%2e"} {
		o, last := answering(t, http.StatusOK, storedConfigMap)
		_, err := o.apply(t.Context(), object.New(map[string]any{"metadata": map[string]any{"name": name}}), options{})
		if want := fmt.Sprintf("the name %q is not valid: ", name); err == nil || !strings.HasPrefix(err.Error(), want) || *last != "" {
			t.Errorf("got %v after the request %q, want %s", err, *last, want)
		}
	}
}

// The error of a read has the message of the API server.
func TestRefusedRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"cannot get resource"}`)
	}))
	t.Cleanup(server.Close)
	client, err := wire.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = objects{client, []string{"api", "v1", "namespaces", "default", "configmaps"}}.get(t.Context(), "c")
	if !apierrors.IsForbidden(err) || err.Error() != "cannot get resource" {
		t.Errorf("error %v, want that of the API server", err)
	}
}

// A read is sent again when the connection was closed before it was answered.
func TestReadAfterClosedConnection(t *testing.T) {
	closed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !closed {
			closed = true
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, storedConfigMap)
	}))
	t.Cleanup(server.Close)
	client, err := wire.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	found, err := objects{client, []string{"api", "v1", "namespaces", "default", "configmaps"}}.get(t.Context(), "c")
	if err != nil || found.GetName() != "c" {
		t.Errorf("got %v, %v", found, err)
	}
}
