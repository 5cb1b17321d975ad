package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// patience is how long a block may run, and how long it is repeated until its output is as documented.
const patience = 3 * time.Minute

// poll is the time between two attempts.
const poll = 200 * time.Millisecond

// prologue restores the current directory and the exported variables of the block before, and keeps those of this one.
const prologue = `
cd "$(cat "$SESSION/directory")"
if [ -f "$SESSION/variables" ]; then . "$SESSION/variables"; fi
trap 'code=$?; pwd >"$SESSION/directory"; export -p >"$SESSION/variables"; exit $code' EXIT
set -e
`

// A Session runs the blocks of a page.
type Session struct {
	env        []string
	background *exec.Cmd
}

// NewSession returns a session that starts in a new directory below dir. As in the root directory of the repository, which is root,
// there are the directories examples, manifests and build; build is bin, with the programs metascript and kubectl.
func NewSession(dir, root, bin string, env ...string) (*Session, error) {
	state, home := filepath.Join(dir, "session"), filepath.Join(dir, "home")
	root, err := filepath.Abs(root)
	err = errors.Join(err, os.Mkdir(state, 0o755), os.Mkdir(home, 0o755), os.Symlink(bin, filepath.Join(home, "build")),
		os.Symlink(filepath.Join(root, "examples"), filepath.Join(home, "examples")),
		os.Symlink(filepath.Join(root, "manifests"), filepath.Join(home, "manifests")))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(state, "directory"), []byte(home), 0o600); err != nil {
		return nil, err
	}
	env = append(os.Environ(), env...)
	return &Session{env: append(env, "SESSION="+state, "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"))}, nil
}

// Run runs a block and compares its output with the documented one.
func (s *Session) Run(ctx context.Context, b *Block) error {
	if b.Interrupts {
		s.Close()
	}
	if b.Background {
		return s.start(ctx, b)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		err := s.once(ctx, b)
		if err == nil || !readsOnly(b.Text) || time.Now().After(deadline) {
			return err
		}
	}
}

// once runs a block in the foreground.
func (s *Session) once(ctx context.Context, b *Block) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := s.command(ctx, b)
	printed, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != b.Exit {
		return fmt.Errorf("%s: the block exits with %d, want %d (%v)\n%s", b, code, b.Exit, err, printed)
	}
	return b.compare(string(printed))
}

// compare compares an output with the documented one.
func (b *Block) compare(printed string) error {
	if b.Output == nil || b.Output.NotRun != "" || matches(b.Output.Text, printed) {
		return nil
	}
	return fmt.Errorf("%s: the output of %s is different\n--- documented\n%s--- printed\n%s", b.Output, b, b.Output.Text, printed)
}

// start runs a block in the background, and waits until it has printed what is documented.
func (s *Session) start(ctx context.Context, b *Block) error {
	s.Close()
	out, err := os.CreateTemp("", "docs-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	s.background = s.command(ctx, b)
	s.background.Stdout, s.background.Stderr = out, out
	if err := s.background.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		printed, err := os.ReadFile(out.Name())
		if err == nil {
			err = b.compare(string(printed))
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// command returns the command that runs a block, in a process group of its own.
func (s *Session) command(ctx context.Context, b *Block) *exec.Cmd {
	command := exec.CommandContext(ctx, "bash", "-c", prologue+b.Text, b.String())
	command.Env, command.SysProcAttr = s.env, &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	return command
}

// Close interrupts the block in the background, as Ctrl-C does.
func (s *Session) Close() {
	if s.background != nil {
		_ = syscall.Kill(-s.background.Process.Pid, syscall.SIGINT)
		_ = s.background.Wait() // it was interrupted
		s.background = nil
	}
}

// reading matches a command that only reads.
var reading = regexp.MustCompile(`^kubectl (get|describe|events|wait|diff|auth can-i)\b`)

// readsOnly reports whether all commands of a block only read.
func readsOnly(text string) bool {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if !reading.MatchString(line) {
			return false
		}
	}
	return true
}
