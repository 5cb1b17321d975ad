package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"metascript/controller/api/v1alpha1"
	"metascript/engine"
)

// get asks a handler and gives the status code and the body.
func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return recorder.Code, string(body)
}

func TestWhatIsServed(t *testing.T) {
	sandbox, err := parsed(t).sandbox.open(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer sandbox.close()
	registry, err := newRegistry(sandbox)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		handler http.Handler
		path    string
		code    int
		want    string
	}{
		{metricsHandler(registry), "/metrics", 200, `metascript_script_slots_busy{isolation="InProcess",lane="fast"} 0`},
		{metricsHandler(registry), "/metrics", 200, "go_goroutines"},
		{metricsHandler(registry), "/", 404, ""},
		{profiles(), "/debug/pprof/", 200, "goroutine"},
		{profiles(), "/debug/pprof/heap?debug=1", 200, "heap profile"},
	} {
		if code, body := get(t, c.handler, c.path); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d and %.300s, want %d and %q", c.path, code, body, c.code, c.want)
		}
	}
}

// The default registry belongs to nobody, and everybody adds to it.
func TestNothingIsInTheDefaultRegistry(t *testing.T) {
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if name := family.GetName(); strings.HasPrefix(name, "metascript_") || strings.HasPrefix(name, "workqueue_") {
			t.Errorf("%s is in the default registry", name)
		}
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = serveAll(slog.New(slog.DiscardHandler),
		endpoint{"health-probe-bind-address", "127.0.0.1:0", http.NotFoundHandler()},
		endpoint{"pprof-address", "0", http.NotFoundHandler()},
		endpoint{"metrics-address", listener.Addr().String(), http.NotFoundHandler()})
	if err == nil || !strings.HasPrefix(err.Error(), "--metrics-address: ") {
		t.Errorf("the error is %v", err)
	}
}

// blocking is a runtime whose scripts do not stop until it is closed.
type blocking chan struct{}

func (b blocking) Compile(context.Context, engine.Script, engine.Limits) (engine.Program, error) {
	<-b
	return nil, errors.New("ended")
}

// A script that cannot be stopped is in the metrics at once, and keeps the server from being ready after a while.
func TestRunawaysAreTold(t *testing.T) {
	sandbox, err := parsed(t).sandbox.open(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer sandbox.close()
	block := make(blocking)
	stuck := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.Starlark: block}})
	sandbox.engines[v1alpha1.IsolationInProcess] = stuck
	registry, err := newRegistry(sandbox)
	if err != nil {
		t.Fatal(err)
	}
	script := engine.Script{
		Language: engine.Starlark, Entry: "sync.star", Owner: "CompositeController/a", Files: fstest.MapFS{"sync.star": {Data: []byte("x")}},
	}
	if _, err := stuck.Compile(t.Context(), script, engine.Limits{Timeout: time.Millisecond}); err == nil {
		t.Fatal("the compilation ended")
	}
	_, metrics := get(t, metricsHandler(registry), "/metrics")
	for _, want := range []string{`metascript_scripts_runaway{isolation="InProcess"} 1`, `metascript_script_runaways_total{isolation="InProcess"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if why := sandbox.overrun(time.Now()); why != nil {
		t.Errorf("not ready after a moment: %q", why)
	}
	why := strings.Join(sandbox.overrun(time.Now().Add(runawayAge)), "\n")
	for _, want := range []string{"CompositeController/a: compiling sync.star, given up at ", "runs on and cannot be stopped: edit the script or set spec.isolation: Process, and restart the server"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
	if all := sandbox.Runaways(); len(all) != 1 || all[0].Owner != "CompositeController/a" {
		t.Errorf("runaways: %v", all)
	}
	close(block)
}
