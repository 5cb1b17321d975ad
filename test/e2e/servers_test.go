package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"metascript/test/address"
)

// A server is a running process.
type server struct {
	*exec.Cmd
	log             *os.File
	health, metrics string  // addresses
	inspect         string  // the same
	proxy           *proxy  // between the server and the API server
	killer          *killer // nil: there is none
}

// named splits arguments such as "as NAME ..." into the name of a server, "" without one, and the rest.
func named(word string, args []string) (name string, rest []string) {
	if len(args) > 1 && args[0] == word {
		return args[1], args[2:]
	}
	return "", args
}

// suffixed returns what with the name of a server as a suffix, if it has one.
func suffixed(what, separator, name string) string {
	if name == "" {
		return what
	}
	return what + separator + name
}

func logOf(name string) string { return suffixed("log", "-", name) }

func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	if w := worldOf(ts); w.shares {
		ts.Check(w.join())
		return
	}
	ts.Check(launch(ts, args).ready())
}

// ready waits until the server is ready.
func (s *server) ready() error {
	return eventually(func() error {
		text, err := fetch(s.health + "/readyz")
		if err == nil && !strings.HasPrefix(text, "200\n") {
			err = errors.New("it is not ready: " + text)
		}
		return err
	})
}

func cmdLaunch(ts *testscript.TestScript, _ bool, args []string) { launch(ts, args) }

func launch(ts *testscript.TestScript, args []string) *server {
	name, flags := named("as", args)
	w := worldOf(ts)
	s, err := w.launch(ts.Getenv("WORK"), name, flags, connectionVariables(ts)...)
	ts.Check(err)
	ts.Setenv(suffixed("HEALTH", "_", name), s.health)
	ts.Setenv(suffixed("METRICS", "_", name), s.metrics)
	ts.Setenv(suffixed("INSPECT", "_", name), s.inspect)
	return s
}

// connectionVariables returns those of the script's environment variables that say how servers are reached, and where traces go.
func connectionVariables(ts *testscript.TestScript) []string {
	var set []string
	for _, name := range []string{
		"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_TRACES_EXPORTER",
	} {
		if value := ts.Getenv(name); value != "" {
			set = append(set, name+"="+value)
		}
	}
	return set
}

// launch runs a server against the cluster, through the script's proxy, with more environment variables.
func (w *world) launch(dir, name string, flags []string, env ...string) (*server, error) {
	proxy, err := w.proxyFor(name)
	if err != nil {
		return nil, err
	}
	path, err := w.proxiedKubeconfig(dir, proxy)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, logOf(name)), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	health, err := address.FreeOn(w.loopback)
	if err != nil {
		return nil, err
	}
	metrics, err := address.FreeOn(w.loopback)
	if err != nil {
		return nil, err
	}
	inspect, err := address.FreeOn(w.loopback)
	if err != nil {
		return nil, err
	}
	s := &server{log: log, health: "http://" + health, metrics: "http://" + metrics, inspect: "http://" + inspect, proxy: proxy}
	s.Cmd = w.program(append([]string{
		"controller", "--kubeconfig=" + path, "--target-label-selector=" + serverLabel + "=" + w.name,
		"--health-probe-bind-address=" + health, "--metrics-address=" + metrics, "--inspect-address=" + inspect, "-v=1",
	}, slices.Concat(strategyFlags(), flags)...)...)
	s.Stdout, s.Stderr, s.Env = log, log, append(os.Environ(), env...)
	if w.kubelet != nil {
		s.Cmd = inPod(s.Cmd, name)
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	if *kill != "" && name == "" {
		s.killer = w.killsAtWrites(s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[name] = s
	return s, nil
}

// program runs the binary. setpriv keeps the process id, so that signals reach the server.
func (w *world) program(args ...string) *exec.Cmd {
	if w.weak && os.Getuid() == 0 {
		return exec.Command("setpriv", append([]string{"--bounding-set=-dac_override,-dac_read_search", binary}, args...)...)
	}
	if w.name == sharedName {
		return exec.Command(sharedBinary, args...)
	}
	return exec.Command(binary, args...)
}

// proxyFor returns the proxy for a server of that name: a server with a name has its own.
func (w *world) proxyFor(name string) (*proxy, error) {
	if name == "" {
		return w.proxy, nil
	}
	p, err := newProxy(w.loopback, w.config.Host)
	if err == nil {
		w.proxies = append(w.proxies, p)
	}
	return p, err
}

// server returns the running server of that name.
func (w *world) server(ts *testscript.TestScript, name string) *server {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.servers[name]
	if s == nil {
		ts.Fatalf("no server %q runs", name)
	}
	return s
}

// cmdSuspend and cmdResume stop the process of a server, with all its timers but those of the machine, and continue it.
func cmdSuspend(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(worldOf(ts).server(ts, strings.Join(args, "")).Process.Signal(syscall.SIGSTOP))
}

func cmdResume(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(worldOf(ts).server(ts, strings.Join(args, "")).Process.Signal(syscall.SIGCONT))
}

// take returns the server of that name, and removes it from the running ones.
func (w *world) take(args []string) *server {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := strings.Join(args, "")
	s := w.servers[name]
	delete(w.servers, name)
	return s
}

// end signals the server that args name, if it runs, and returns the error of its exit.
func (w *world) end(args []string, signal syscall.Signal) error {
	s := w.take(args)
	if s == nil {
		return nil
	}
	defer s.log.Close()
	if s.killer.stop() {
		if err := s.ready(); err != nil { // else it may have no handler for the signal yet
			return err
		}
	}
	if err := s.Process.Signal(signal); err != nil {
		return err
	}
	_ = s.Process.Signal(syscall.SIGCONT) // a suspended process receives no other signal
	return s.Wait()
}

func cmdEnd(ts *testscript.TestScript, _ bool, args []string) {
	worldOf(ts).part()
	if err := worldOf(ts).end(args, syscall.SIGTERM); err != nil {
		ts.Fatalf("after SIGTERM: %v", err)
	}
}

func cmdCrash(ts *testscript.TestScript, _ bool, args []string) {
	_ = worldOf(ts).end(args, syscall.SIGKILL) // the error says that it was killed
}

func cmdEnds(ts *testscript.TestScript, _ bool, args []string) {
	s := worldOf(ts).take(args)
	defer s.log.Close()
	if err := s.Wait(); err == nil {
		ts.Fatalf("it exits with 0")
	}
}

// stopAll ends the servers that still run after a script.
func (w *world) stopAll() {
	w.mu.Lock()
	var names []string
	for name := range w.servers {
		names = append(names, name)
	}
	w.mu.Unlock()
	for _, name := range names {
		_ = w.end([]string{name}, syscall.SIGTERM)
	}
}

func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	text, err := fetch(args[0])
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), text)
}

// fetch returns the status code and, below it, the body.
func fetch(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d\n%s", resp.StatusCode, body), err
}

func cmdCluster(ts *testscript.TestScript, _ bool, args []string) {
	var flags []string
	if slices.Contains(args, "audited") {
		flags = append(flags, "--audit-log="+filepath.Join(ts.Getenv("WORK"), auditLog))
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
	config, kubeconfig, stop, err := startCluster(env, flags...)
	ts.Check(err)
	ts.Defer(stop)
	w := worldOf(ts)
	w.removeAll() // of the previous cluster
	ts.Check(w.enter(config, kubeconfig))
	ts.Check(w.createNamespace())
}
