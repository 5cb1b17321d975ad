package hook

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/engine"
)

// withSecret is a request about a Secret's owner.
func withSecret() *Request {
	secret := object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"a": "aHVzaC1odXNo"},
	})
	parent := object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}})
	req := &Request{Parent: parent, Controller: object.New(map[string]any{}), Children: &object.Set{}}
	req.Children.Put(secret)
	return req
}

func TestScriptErrorDoesNotContainSecrets(t *testing.T) {
	fault := &engine.Error{Kind: engine.KindRaised, Msg: "int: invalid literal hush-hush", Hint: "aHVzaC1odXNo?"}
	for name, err := range map[string]error{"itself": fault, "wrapped": fmt.Errorf("hush-hush: %w", fault), "another": errors.New("hush-hush")} {
		got := withSecret().redactor(t.Context()).Error(err)
		var e *engine.Error
		if strings.Contains(engine.DetailOf(got), "hush") || strings.Contains(got.Error(), "aHVzaC") {
			t.Errorf("%s: got %s", name, engine.DetailOf(got))
		}
		if errors.As(err, &e) != errors.As(got, &e) {
			t.Errorf("%s: its kind is lost", name)
		}
	}
	if fault.Msg != "int: invalid literal hush-hush" {
		t.Error("the error itself was changed")
	}
}

func TestWebhookErrorDoesNotContainSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `cannot use {"a": "aHVzaC1odXNo"}, which is hush-hush`, http.StatusInternalServerError)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	_, err := (&Webhook{URL: server.URL}).Call(t.Context(), withSecret())
	if err == nil || strings.Contains(err.Error(), "hush-") || strings.Contains(err.Error(), "aHVz") || !strings.Contains(err.Error(), "cannot use") {
		t.Errorf("got %v", err)
	}
}

// What follows from a response can quote the request, for example an error of the API server.
func TestSuccessfulCallAddsSecretsToRedactor(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"children": []}`)) })
	h.Client.Endpoint = always(Endpoint{Authorization: "Bearer zQx7Kp2m"})
	known := redact.New()
	if _, err := h.Call(redact.NewContext(t.Context(), known), withSecret()); err != nil {
		t.Fatal(err)
	}
	if got := known.Text("hush-hush and also zQx7Kp2m"); got != redact.Mark+" and also "+redact.Mark {
		t.Errorf("got %q", got)
	}
}
