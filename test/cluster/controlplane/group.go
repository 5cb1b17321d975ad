package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// group starts child processes and stops them.
//
// Only one goroutine may call start and stop. Any goroutine may receive from
// failed.
type group struct {
	folder     folder
	executable string
	grace      time.Duration // the time between SIGTERM and SIGKILL

	// failed gets the error of the first process that exits. A component must
	// not exit before stop, and after stop nothing receives from failed.
	failed chan error

	forks   chan fork  // requests for serveForks
	members []*process // in the order of their start
}

// process is a started component.
type process struct {
	name string
	log  string // the path of the log
	cmd  *exec.Cmd
	done chan struct{} // closed after cmd.Wait has returned
}

// fork is a request to serveForks to start a process.
type fork struct {
	cmd    *exec.Cmd
	result chan error // gets what cmd.Start returns
}

// newGroup returns a group without processes. Its processes run executable in
// the directory f.
func newGroup(f folder, executable string, grace time.Duration) *group {
	g := &group{
		folder:     f,
		executable: executable,
		grace:      grace,
		failed:     make(chan error, 1),
		forks:      make(chan fork),
	}
	go g.serveForks()
	return g
}

// serveForks starts all processes from one thread, which exists until stop
// returns. On Linux, the kernel kills the child processes of a killed launcher
// (Pdeathsig). But it kills a child process when the thread that started it
// exits, and the Go runtime can end other threads at any time.
func (g *group) serveForks() {
	runtime.LockOSThread()
	for f := range g.forks {
		f.result <- f.cmd.Start()
	}
}

// start starts a component. Its output goes to its log.
func (g *group) start(c component) (*process, error) {
	p := &process{name: c.name, log: g.folder.log(c.name), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("%s: create log: %w", c.name, err)
	}
	defer log.Close() // the child process has its own file descriptor
	p.cmd = exec.Command(g.executable, append([]string{c.name}, c.args...)...)
	p.cmd.Dir = string(g.folder)
	p.cmd.Env = environment()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = childAttributes()
	f := fork{cmd: p.cmd, result: make(chan error)}
	g.forks <- f
	if err := <-f.result; err != nil {
		return nil, fmt.Errorf("%s: start: %w", c.name, err)
	}
	g.members = append(g.members, p)
	go g.wait(p)
	return p, nil
}

// wait waits until p has exited, and reports this to failed.
func (g *group) wait(p *process) {
	p.cmd.Wait() // errorf below reports ProcessState instead of the error
	close(p.done)
	select {
	case g.failed <- p.errorf("ended: %v", p.cmd.ProcessState):
	default: // the first process that exits is the cause; others exit because of it
	}
}

// stop sends SIGTERM to all processes, and SIGKILL after the grace period. It
// returns when all processes have exited.
func (g *group) stop() {
	g.signal(syscall.SIGTERM)
	kill := time.AfterFunc(g.grace, func() { g.signal(syscall.SIGKILL) })
	defer kill.Stop()
	for _, p := range g.members {
		<-p.done
	}
	close(g.forks)
}

// signal sends s to all processes, in the reverse order of their start, because
// later components depend on earlier ones. It cannot signal another process
// with a reused id: os.Process sends no signal after Wait has returned.
func (g *group) signal(s os.Signal) {
	for i := len(g.members) - 1; i >= 0; i-- {
		g.members[i].cmd.Process.Signal(s) // an error means that it has exited
	}
}

// errorf returns an error about the component, with the last lines of its log.
func (p *process) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %s\n%s", p.name, fmt.Sprintf(format, args...), tail(p.log))
}

// tail returns the last lines of a log, indented.
func tail(path string) string {
	const maxLines = 15
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("  (no log: %v)", err)
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	if len(lines) > maxLines {
		lines = lines[len(lines)-maxLines:]
	}
	return fmt.Sprintf("  last lines of %s:\n  | %s", path, strings.Join(lines, "\n  | "))
}
