package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// up makes sure that a cluster runs in the background and returns when it can
// be used. One that already runs, or is just being started, is taken as it is.
func (l *Launcher) up(ctx context.Context, args []string) error {
	flags, dir := newFlags("up", l.backgroundDir())
	if err := parse(flags, args); err != nil {
		return err
	}
	if kubeconfig := foreign(*dir); kubeconfig != "" {
		return l.adopt(ctx, kubeconfig)
	}
	absolute, err := filepath.Abs(*dir)
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	f := folder(absolute)
	if err := l.ensure(ctx, f); err != nil {
		return err
	}
	l.progress("to end it: %s down --dir %s", l.Executable, f)
	return l.announce(f.kubeconfig())
}

// errGone says that the launcher that was waited for has ended.
var errGone = errors.New("its launcher has ended")

// ensure starts a launcher unless one is there. If two do so at the same time,
// the lock lets one of them in and both wait for its cluster; if the launcher
// turns out to be ending, the next one is started after it.
func (l *Launcher) ensure(ctx context.Context, f folder) error {
	for {
		pid, err := f.holder()
		if err != nil {
			return fmt.Errorf("up: %w", err)
		}
		if pid == 0 {
			startErr := l.spawn(ctx, f)
			if startErr == nil {
				return nil
			}
			if pid, err = f.holder(); err != nil || pid == 0 {
				return startErr
			}
		}
		if err := l.awaitHolder(ctx, f); !errors.Is(err, errGone) {
			return err
		}
	}
}

// spawn starts a launcher in a session of its own, so that it outlives this
// process and its terminal, and waits until it announces its cluster.
func (l *Launcher) spawn(ctx context.Context, f folder) error {
	if err := os.MkdirAll(f.path("logs"), 0o755); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	// Appending keeps the log whole if two launchers write to it, one of which
	// only says that the other was first.
	log, err := os.OpenFile(f.log("launcher"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(l.Executable, "run", "--dir", string(f))
	cmd.Env = environment()
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("up: start the launcher: %w", err)
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil && strings.HasPrefix(line, "KUBECONFIG=") {
		return nil
	}
	return l.spawnFailed(cmd, stdout, f)
}

// spawnFailed waits for a launcher that gave up and tells why.
func (l *Launcher) spawnFailed(cmd *exec.Cmd, stdout io.Closer, f folder) error {
	stdout.Close()
	cmd.Wait() // its log says why
	reason, err := os.ReadFile(f.log("launcher"))
	if err != nil {
		return fmt.Errorf("up: the launcher failed, and its log is gone: %w", err)
	}
	return fmt.Errorf("up: the launcher failed:\n%s", strings.TrimSpace(string(reason)))
}

// awaitHolder waits until the cluster of another launcher answers.
func (l *Launcher) awaitHolder(ctx context.Context, f folder) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.startTimeout(), errTimeout)
	defer cancel()
	gone := make(chan error, 1)
	err := poll(ctx, gone, func(ctx context.Context) error {
		pid, err := f.holder()
		if err != nil {
			return err
		}
		if pid == 0 {
			gone <- errGone
			return errGone
		}
		if _, err := os.Stat(f.kubeconfig()); err != nil {
			return err
		}
		return l.answers(ctx, f.kubeconfig())
	})
	if err != nil {
		return fmt.Errorf("up: the cluster in %s: %w", f, err)
	}
	return nil
}
