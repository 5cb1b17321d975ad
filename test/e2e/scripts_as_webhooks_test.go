package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/engine"
	"metascript/runtimes"
)

// setupWebhooks creates the world of a script, with every controller's inline script behind a webhook.
func setupWebhooks(env *testscript.Env, s script) error {
	if err := setupNamed(env, s, "-w"); err != nil {
		return err
	}
	hooks := newScriptServer()
	env.Defer(hooks.Close)
	env.Values[worldKey{}].(*world).hooks = hooks
	return nil
}

// A scriptServer serves the functions of scripts as webhooks, at /<kind>/<name of the controller>/<function>.
type scriptServer struct {
	*httptest.Server
	engine *engine.Engine

	mu       sync.Mutex
	programs map[string]engine.Program
}

func newScriptServer() *scriptServer {
	s := &scriptServer{engine: engine.New(engine.Options{Runtimes: runtimes.All()}), programs: map[string]engine.Program{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// serveScript replaces a controller's inline script by webhooks of this server.
func (s *scriptServer) serveScript(o *unstructured.Unstructured) error {
	script, found, _ := unstructured.NestedMap(o.Object, "spec", "script")
	if !found {
		return nil
	}
	source, _ := script["inline"].(string)
	language, _ := script["language"].(string)
	program, err := s.engine.Compile(context.Background(), engine.Script{
		Language: language, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(source)}},
	}, engine.Limits{})
	if err != nil {
		return err
	}
	path := o.GetKind() + "/" + o.GetName()
	s.mu.Lock()
	s.programs[path] = program
	s.mu.Unlock()
	unstructured.RemoveNestedField(o.Object, "spec", "script")
	for _, function := range []string{"sync", "finalize", "customize"} {
		if !slices.Contains(program.Functions(), function) {
			continue
		}
		hook := map[string]any{"webhook": map[string]any{"url": fmt.Sprintf("%s/%s/%s", s.URL, path, function), "timeout": "1m"}}
		if version, _ := script["version"].(string); version != "" {
			hook["version"] = version
		}
		if err := unstructured.SetNestedMap(o.Object, hook, "spec", "hooks", function); err != nil {
			return err
		}
	}
	return nil
}

func (s *scriptServer) serve(w http.ResponseWriter, r *http.Request) {
	at := strings.LastIndexByte(r.URL.Path, '/')
	s.mu.Lock()
	program := s.programs[r.URL.Path[1:at]]
	s.mu.Unlock()
	text, err := io.ReadAll(r.Body)
	var arg map[string]any
	if err == nil {
		err = utiljson.Unmarshal(text, &arg)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := program.Call(r.Context(), r.URL.Path[at+1:], arg, engine.Env{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}
