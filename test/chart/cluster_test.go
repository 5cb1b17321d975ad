// Package chart tests the Helm chart that "make chart" has packaged, on a real control plane. It is a separate Go module, because the
// chart has to be packaged first: see "make test-chart".
package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const build = "../../build/"

var (
	// archive is the path of the packaged chart.
	archive string
	// kubeconfig is the path of a kubeconfig file of an administrator.
	kubeconfig string
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if err := setup(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			return 1
		}
		defer func() { _ = exec.Command(build+"cluster", "down", "--dir", filepath.Dir(kubeconfig)).Run() }()
		return m.Run()
	}())
}

func setup() error {
	found, err := filepath.Glob(build + "chart/metascript-*.tgz")
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%d charts in %schart: run make chart", len(found), build)
	}
	if archive, err = filepath.Abs(found[0]); err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "chart")
	if err != nil {
		return err
	}
	up, err := exec.Command(build+"cluster", "up", "--dir", state).Output()
	kubeconfig = strings.TrimPrefix(strings.TrimSpace(string(up)), "KUBECONFIG=")
	return err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command with the kubeconfig, and returns what it prints.
func run(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+filepath.Dir(kubeconfig)+"/helm")
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(build+"helm", args...)
	check(t, err)
	return out
}

// helmFails runs helm, which must fail with this text.
func helmFails(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := run(build+"helm", args...)
	if err == nil {
		t.Fatalf("helm %s is accepted, want an error with %q", strings.Join(args, " "), want)
	}
	if !strings.Contains(out, want) {
		t.Errorf("helm %s: the error is\n%s\nwant %q", strings.Join(args, " "), out, want)
	}
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(build+"cluster", append([]string{"kubectl"}, args...)...)
	check(t, err)
	return out
}

// get returns a field of an object, in the form of kubectl's jsonpath.
func get(t *testing.T, field string, args ...string) string {
	t.Helper()
	return kubectl(t, append([]string{"get", "--output=jsonpath=" + field}, args...)...)
}

// apply applies objects.
func apply(t *testing.T, objects string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	check(t, os.WriteFile(path, []byte(objects), 0o600))
	kubectl(t, "apply", "--server-side", "--force-conflicts", "--filename="+path)
}

// until waits until a condition is true, for at most three minutes.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 3 minutes it is not so that %s", what)
		}
	}
}

// objects returns the names of objects that could make another test fail, without those that the control plane makes.
func objects(t *testing.T) []string {
	t.Helper()
	cluster := kubectl(t, "get", "namespaces,clusterroles,clusterrolebindings,crds,validatingadmissionpolicies,validatingadmissionpolicybindings", "--output=name")
	return strings.Fields(cluster + "\n" + kubectl(t, "get", "all,configmaps,serviceaccounts,roles,rolebindings,networkpolicies,endpointslices", "--namespace=default", "--output=name"))
}

// begun is the name of the test that has created a namespace. If it creates a second one, what is left is looked for after the first.
var begun string

// namespace creates a namespace in which the Pod Security Standard restricted is enforced. When the test ends, nothing of the
// server is left in the cluster: neither the namespace nor what has none. applied are arguments of "kubectl delete" for what the test applies.
func namespace(t *testing.T, name string, applied ...string) string {
	t.Helper()
	var before []string
	outer := begun != t.Name()
	if outer {
		before, begun = objects(t), t.Name()
	}
	apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+", labels: {pod-security.kubernetes.io/enforce: restricted}}}")
	t.Cleanup(func() {
		for _, release := range strings.Fields(helm(t, "list", "--short", "--namespace", name)) {
			helm(t, "uninstall", release, "--namespace", name, "--wait")
		}
		kubectl(t, "delete", "namespace", name, "--ignore-not-found")
		_, err := run(build+"metascript", "uninstall", "--yes")
		check(t, err)
		kubectl(t, "delete", "clusterroles,clusterrolebindings", "--selector=app.kubernetes.io/name in (metascript,metacontroller,metacontroller-helm)")
		if applied != nil {
			kubectl(t, append([]string{"delete", "--ignore-not-found"}, applied...)...)
		}
		if !outer {
			return
		}
		begun = ""
		left := func() []string {
			return slices.DeleteFunc(objects(t), func(name string) bool { return slices.Contains(before, name) })
		}
		for wait := 0; len(left()) > 0 && wait < 20; wait++ { // the garbage collector deletes children
			time.Sleep(500 * time.Millisecond)
		}
		if names := left(); len(names) > 0 {
			t.Errorf("the test leaves %v", names)
		}
	})
	return name
}

// A kubelet runs the server in each Pod of a namespace as a process on this machine, with the arguments and as the ServiceAccount of the
// Pod: the Pods of the test cluster have no processes.
type kubelet struct {
	watch *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex
	pods map[string]*process // by UID
}

type process struct {
	command *exec.Cmd
	log     log
	ended   chan error
	stopped bool
}

// A log can be read while it is written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type pod struct {
	Metadata struct {
		Name, Namespace, UID string
		DeletionTimestamp    string
	}
	Spec struct {
		ServiceAccountName string
		Containers         []struct{ Args []string }
	}
	Status struct{ Phase string }
}

// startKubelet watches the Pods of a namespace until the test ends.
func startKubelet(t *testing.T, namespace string) *kubelet {
	t.Helper()
	k := &kubelet{ended: make(chan struct{}), pods: map[string]*process{}}
	k.watch = exec.Command(build+"cluster", "kubectl", "--kubeconfig="+kubeconfig, "get", "pods", "--namespace="+namespace, "--watch", "--output-watch-events", "--output=json")
	events, err := k.watch.StdoutPipe()
	check(t, err)
	k.watch.Stderr = os.Stderr
	check(t, k.watch.Start())
	go func() {
		defer close(k.ended)
		if err := k.follow(events); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
			fmt.Fprintln(os.Stderr, "error: watch Pods:", err)
		}
	}()
	t.Cleanup(func() {
		_ = k.watch.Process.Kill()
		<-k.ended
		_ = k.watch.Wait()
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, p := range k.pods {
			if err := p.stop(); err != nil || t.Failed() {
				t.Errorf("a server ended: %v\n%s", err, p.log.String())
			}
		}
	})
	return k
}

// follow starts a process for each Pod that runs, and stops it when the Pod is deleted.
func (k *kubelet) follow(events io.Reader) error {
	for decoder := json.NewDecoder(events); ; {
		var event struct {
			Type   string
			Object pod
		}
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		p := event.Object
		k.mu.Lock()
		running := k.pods[p.Metadata.UID]
		switch {
		case event.Type == "DELETED" || p.Metadata.DeletionTimestamp != "":
			if running != nil {
				running.interrupt()
			}
		case p.Status.Phase == "Running" && running == nil:
			started, err := start(&p)
			if err != nil {
				k.mu.Unlock()
				return err
			}
			k.pods[p.Metadata.UID] = started
		}
		k.mu.Unlock()
	}
}

// start starts the server of a Pod. The last flags are those of this machine, which has one network for all Pods.
func start(p *pod) (*process, error) {
	own, err := kubeconfigOf(p)
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(p.Spec.Containers[0].Args), "--health-probe-bind-address=0", "--metrics-address=0", "--verbosity=1",
		"--kubeconfig="+own, "--namespace="+p.Metadata.Namespace, "--leader-election-namespace="+p.Metadata.Namespace)
	started := &process{command: exec.Command(build+"metascript", args...), ended: make(chan error, 1)}
	started.command.Stdout, started.command.Stderr = &started.log, &started.log
	started.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := started.command.Start(); err != nil {
		return nil, err
	}
	go func() { started.ended <- started.command.Wait() }()
	return started, nil
}

// kubeconfigOf writes a kubeconfig file with a token of the ServiceAccount of a Pod, and returns its path. With the flag --as, the server could
// act as every account, since its requests would be those of an administrator.
func kubeconfigOf(p *pod) (string, error) {
	text, err := run(build+"cluster", "kubectl", "config", "view", "--raw", "--minify", "--output=json")
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", err
	}
	token, err := run(build+"cluster", "kubectl", "create", "token", p.Spec.ServiceAccountName, "--namespace="+p.Metadata.Namespace)
	if err != nil {
		return "", err
	}
	config["users"].([]any)[0].(map[string]any)["user"] = map[string]any{"token": token}
	own, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(kubeconfig), p.Metadata.UID)
	return path, os.WriteFile(path, own, 0o600)
}

func (p *process) interrupt() {
	if !p.stopped {
		p.stopped = true
		_ = p.command.Process.Signal(syscall.SIGTERM)
	}
}

// stop ends the process, and returns its error. A process that has not yet begun to handle SIGTERM is ended by it.
func (p *process) stop() error {
	p.interrupt()
	err := <-p.ended
	p.ended <- err
	if status, is := p.command.ProcessState.Sys().(syscall.WaitStatus); is && status.Signal() == syscall.SIGTERM {
		return nil
	}
	return err
}

// spans returns for each server that has reconciled parents the times of the first and of the last time, in their order.
func (k *kubelet) spans() [][2]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found [][2]string
	for _, p := range k.pods {
		var span [2]string
		for line := range strings.Lines(p.log.String()) {
			if at, is := strings.CutPrefix(line, "time="); is && strings.Contains(line, "msg=reconciled ") {
				at, _, _ = strings.Cut(at, " ")
				if span[0] == "" {
					span[0] = at
				}
				span[1] = at
			}
		}
		if span[0] != "" {
			found = append(found, span)
		}
	}
	slices.SortFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return found
}
