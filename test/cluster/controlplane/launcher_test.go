package controlplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests start this test binary again, as the launcher and as the components.
// So they test real processes and real signals. These environment variables
// configure the processes:
const (
	envComponents = "FAKE_COMPONENTS"   // names of the components, separated by commas
	envTether     = "FAKE_TETHER"       // address that each component connects to
	envTimeout    = "FAKE_TIMEOUT"      // the launcher's StartTimeout
	envForeign    = "FAKE_UNREACHABLE"  // if set, kubectl fails
	envExecutable = "FAKE_NO_COMPONENT" // if set, the components cannot be started
)

func TestMain(m *testing.M) {
	if os.Getenv(envComponents) == "" || len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch program := os.Args[1]; program {
	case "run", "up", "down":
		os.Exit(fakeLauncher())
	case "kubectl":
		os.Exit(fakeKubectl())
	default:
		os.Exit(fakeComponent(program))
	}
}

// fakeLauncher runs a Launcher with fake components and returns the exit code.
func fakeLauncher() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	executable, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if os.Getenv(envExecutable) != "" {
		executable = "/nonexistent/cluster"
	}
	timeout, _ := time.ParseDuration(os.Getenv(envTimeout)) // 0, the default, if the variable is not set
	l := &Launcher{
		Executable:   executable,
		Stdin:        os.Stdin,
		Stdout:       os.Stdout,
		Stderr:       os.Stderr,
		StartTimeout: timeout,
		StopGrace:    100 * time.Millisecond,
		plan:         fakePlan,
	}
	if err := l.Run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fakePlan returns a plan with one component per wave, so that the components
// start in the order of their names in FAKE_COMPONENTS.
func fakePlan(f folder) (*plan, error) {
	p := &plan{kubeconfig: []byte("fake")}
	if err := os.MkdirAll(f.path("state"), 0o700); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(os.Getenv(envComponents), ",") {
		marker := f.path("state", name+".ready")
		p.waves = append(p.waves, []component{{
			name:  name,
			args:  []string{marker},
			ready: func(context.Context) error { _, err := os.Stat(marker); return err },
		}})
	}
	return p, nil
}

// fakeKubectl runs as kubectl and returns the exit code.
func fakeKubectl() int {
	if os.Getenv(envForeign) != "" {
		fmt.Fprintln(os.Stderr, "connection refused")
		return 1
	}
	return 0
}

// fakeComponent runs as a component and returns the exit code. The first word of
// its name says what it does: "quits" exits at once, "stubborn" ignores SIGTERM,
// "mute" never becomes ready, "steady" runs until it is stopped.
func fakeComponent(name string) int {
	conn, err := net.Dial("tcp", os.Getenv(envTether))
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(conn, "%s %d\n", name, os.Getpid())
	behavior, _, _ := strings.Cut(name, "-")
	switch behavior {
	case "quits":
		fmt.Fprintln(os.Stderr, "no such port")
		return 3
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	if behavior != "mute" {
		if err := os.WriteFile(os.Args[2], nil, 0o600); err != nil {
			panic(err)
		}
	}
	io.Copy(io.Discard, conn) // waits until the test closes the connection
	return 0
}

// tether is a server to which the components connect. The kernel closes the
// connection when the process exits. So a test can wait for the exit of a
// process that is not its child process, without polling.
type tether struct {
	t        *testing.T
	listener net.Listener
}

// leash is the connection of a component to a tether.
type leash struct {
	conn net.Conn
	name string
	pid  int
}

func newTether(t *testing.T) *tether {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return &tether{t: t, listener: listener}
}

// next waits until a component starts, and returns its connection.
func (te *tether) next() *leash {
	te.t.Helper()
	conn, err := te.listener.Accept()
	if err != nil {
		te.t.Fatal(err)
	}
	te.t.Cleanup(func() { conn.Close() })
	l := &leash{conn: conn}
	if _, err := fmt.Fscanf(conn, "%s %d\n", &l.name, &l.pid); err != nil {
		te.t.Fatal(err)
	}
	return l
}

// awaitEnd waits until the component has exited. An error of the connection also
// means that the component has exited.
func (l *leash) awaitEnd() { io.Copy(io.Discard, l.conn) }

// none fails the test if a component has started since the last call of next.
func (te *tether) none() {
	te.t.Helper()
	te.listener.(*net.TCPListener).SetDeadline(time.Now())
	if conn, err := te.listener.Accept(); err == nil {
		conn.Close()
		te.t.Error("a component has started, want none")
	}
}

// launcherProcess is a launcher that a test has started.
type launcherProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *strings.Builder
	tmp    string
}

// launch starts a launcher whose temporary directory is in a temporary directory
// of the test.
func (te *tether) launch(components string, env []string, args ...string) *launcherProcess {
	te.t.Helper()
	p := &launcherProcess{t: te.t, cmd: exec.Command(os.Args[0], args...), stderr: &strings.Builder{}, tmp: te.t.TempDir()}
	p.cmd.Env = append(environment(),
		"TMPDIR="+p.tmp,
		"GORACE=atexit_sleep_ms=0", // else each process takes a second to end
		envComponents+"="+components,
		envTether+"="+te.listener.Addr().String())
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		te.t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		te.t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		te.t.Fatal(err)
	}
	te.t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// kubeconfig waits for the line that says that the cluster is ready.
func (p *launcherProcess) kubeconfig() string {
	p.t.Helper()
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.cmd.Wait()
		p.t.Fatalf("no line on stdout: %v; stderr:\n%s", err, p.stderr)
	}
	path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "KUBECONFIG=")
	if !ok || !filepath.IsAbs(path) {
		p.t.Fatalf("line on stdout is %q", line)
	}
	return path
}

// end waits until the launcher has exited. It checks the exit code, and that
// nothing else is printed on stdout.
func (p *launcherProcess) end(exitCode int) {
	p.t.Helper()
	rest, _ := io.ReadAll(p.stdout)
	p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != exitCode {
		p.t.Fatalf("exit code %d, want %d; stderr:\n%s", got, exitCode, p.stderr)
	}
	if len(rest) > 0 {
		p.t.Errorf("more output on stdout: %q", rest)
	}
}

// wantStderr checks that the standard error contains the parts.
func (p *launcherProcess) wantStderr(parts ...string) {
	p.t.Helper()
	for _, part := range parts {
		if !strings.Contains(p.stderr.String(), part) {
			p.t.Errorf("stderr does not contain %q:\n%s", part, p.stderr)
		}
	}
}

// wantNoFiles checks that the launcher has removed its temporary directory.
func (p *launcherProcess) wantNoFiles() {
	p.t.Helper()
	entries, err := os.ReadDir(p.tmp)
	if err != nil || len(entries) > 0 {
		p.t.Errorf("files left in the temporary directory: %v, %v", entries, err)
	}
}

// wantExists checks whether a file exists.
func wantExists(t *testing.T, path string, exists bool) {
	t.Helper()
	if _, err := os.Stat(path); (err == nil) != exists {
		t.Errorf("stat %s: %v, want exists: %v", path, err, exists)
	}
}
