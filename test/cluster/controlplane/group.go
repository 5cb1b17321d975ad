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

// group owns child processes: those it started are those it ends.
//
// start and stop are for one goroutine; failed may be read by any.
type group struct {
	folder     folder
	executable string
	grace      time.Duration

	// failed gets the error of the first process that ends. Ending is always a
	// failure: nobody reads it once the group is being stopped.
	failed chan error

	forks   chan fork
	members []*process
}

// process is a started component. done is closed when it has ended and has
// been waited for.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

// fork asks the thread that starts all processes to start one more.
type fork struct {
	cmd    *exec.Cmd
	result chan error
}

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

// serveForks starts the processes from one thread that lives as long as the
// group. The kernel's promise to kill a child with its parent, which is how
// none survives a killed launcher, is about the parent thread: a child started
// from a thread of the Go scheduler's would die whenever that thread does.
func (g *group) serveForks() {
	runtime.LockOSThread()
	for f := range g.forks {
		f.result <- f.cmd.Start()
	}
}

// start starts a component, its output going to its log.
func (g *group) start(c component) (*process, error) {
	p := &process{name: c.name, log: g.folder.log(c.name), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("%s: create log: %w", c.name, err)
	}
	defer log.Close() // the child has a descriptor of its own
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

func (g *group) wait(p *process) {
	p.cmd.Wait() // ProcessState says more than the error
	close(p.done)
	select {
	case g.failed <- p.errorf("ended: %v", p.cmd.ProcessState):
	default: // only the first is the cause, the others are consequences
	}
}

// stop ends all processes, in the reverse order of their start so that none
// loses what it depends on, and returns when all have ended.
func (g *group) stop() {
	g.signal(syscall.SIGTERM)
	kill := time.AfterFunc(g.grace, func() { g.signal(syscall.SIGKILL) })
	defer kill.Stop()
	for _, p := range g.members {
		<-p.done
	}
	close(g.forks)
}

// signal is safe against reused ids: the os package knows which processes have
// been waited for, and signals none of these.
func (g *group) signal(s os.Signal) {
	for i := len(g.members) - 1; i >= 0; i-- {
		g.members[i].cmd.Process.Signal(s) // an error means that it has ended
	}
}

// errorf returns an error about the component that shows the end of its log.
func (p *process) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %s\n%s", p.name, fmt.Sprintf(format, args...), tail(p.log))
}

// tail returns the last lines of a log, indented below the error they explain.
func tail(path string) string {
	const most = 15
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("  (no log: %v)", err)
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return fmt.Sprintf("  last lines of %s:\n  | %s", path, strings.Join(lines, "\n  | "))
}
