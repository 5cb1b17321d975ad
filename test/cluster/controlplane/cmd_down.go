package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// down stops the cluster in a directory, if one runs there, and returns when
// all its processes have exited. It ignores KUBECONFIG: if up used the cluster
// of KUBECONFIG, no launcher has the lock of the directory.
func (l *Launcher) down(ctx context.Context, args []string) error {
	flags, dir := newFlags("down", l.backgroundDir())
	if err := parse(flags, args); err != nil {
		return err
	}
	absolute, err := filepath.Abs(*dir)
	if err != nil {
		return fmt.Errorf("down: %w", err)
	}
	f := folder(absolute)
	if err := l.endHolder(ctx, f); err != nil {
		return fmt.Errorf("down: %w", err)
	}
	return nil
}

// launcherGrace is added to the grace period of the child processes. After both,
// the launcher is killed. Then only files can be left, and tidy removes them.
const launcherGrace = 10 * time.Second

// endHolder sends SIGTERM to the launcher that has the lock, and SIGKILL if the
// launcher does not exit in time. After SIGKILL, the kernel kills the child
// processes of the launcher (on Linux).
func (l *Launcher) endHolder(ctx context.Context, f folder) error {
	launcher, err := findHolder(f)
	if err != nil {
		return err
	}
	if launcher == nil {
		l.progress("no cluster is running in %s", f)
		return tidy(f)
	}
	l.progress("stopping the launcher, process %d", launcher.Pid)
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		launcher.Signal(signal) // an error means that it has exited
		err = awaitRelease(ctx, f, launcher.Pid, l.stopGrace()+launcherGrace)
		if !errors.Is(err, errTimeout) {
			break
		}
	}
	if err != nil {
		return err
	}
	return tidy(f)
}

// findHolder returns the launcher that has the lock of a directory, or nil if
// none has it. It reads the process id from the lock, opens the process, and
// reads the id again. If both ids are equal, the os.Process is the launcher, and
// stays so even if the id is reused later.
func findHolder(f folder) (*os.Process, error) {
	pid, err := f.holder()
	if err != nil || pid == 0 {
		return nil, err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	current, err := f.holder()
	if err != nil || current != pid {
		return nil, err
	}
	return process, nil
}

// awaitRelease waits until the process pid does not have the lock any more.
func awaitRelease(ctx context.Context, f folder, pid int, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	return poll(ctx, nil, func(context.Context) error {
		holder, err := f.holder()
		if err == nil && holder == pid {
			err = fmt.Errorf("process %d still has the lock of %s", pid, f)
		}
		return err
	})
}

// tidy removes the files that a killed launcher has left. If another launcher
// has the lock now, the files belong to its cluster, and tidy does nothing.
func tidy(f folder) error {
	if _, err := os.Stat(f.path("lock")); err != nil {
		return nil
	}
	lock, err := f.acquire() // removes the files
	if errors.Is(err, errBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	return lock.Close()
}
