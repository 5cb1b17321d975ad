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

// up starts a cluster in the background, unless it already runs or starts, and
// returns when the cluster is ready.
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
	l.progress("to stop it: %s down --dir %s", l.Executable, f)
	return l.announce(f.kubeconfig())
}

// errGone is the error of awaitHolder if the launcher has exited.
var errGone = errors.New("its launcher has exited")

// ensure starts a launcher, unless one runs. If two processes call ensure at
// the same time, only one of the two launchers gets the lock, and both
// processes wait for its cluster. If the running launcher exits, ensure starts
// a new one.
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

// spawn starts a launcher and waits until it prints the path of the kubeconfig.
// The launcher has its own session (setsid), so it keeps running after this
// process exits and its terminal is closed.
func (l *Launcher) spawn(ctx context.Context, f folder) error {
	if err := os.MkdirAll(f.path("logs"), 0o755); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	// With O_APPEND, two launchers do not overwrite each other's lines. The one
	// that does not get the lock writes only this error.
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

// spawnFailed waits until a launcher that failed has exited, and returns its
// log as an error.
func (l *Launcher) spawnFailed(cmd *exec.Cmd, stdout io.Closer, f folder) error {
	stdout.Close()
	cmd.Wait() // the error is in the log
	output, err := os.ReadFile(f.log("launcher"))
	if err != nil {
		return fmt.Errorf("up: the launcher failed, and its log cannot be read: %w", err)
	}
	return fmt.Errorf("up: the launcher failed:\n%s", strings.TrimSpace(string(output)))
}

// awaitHolder waits until the cluster of a running launcher is ready. The error
// is errGone if the launcher has exited.
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
