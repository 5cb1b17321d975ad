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

// down ends the cluster in a folder, if there is one, and returns when all of
// it has ended. The environment's KUBECONFIG does not matter: a cluster that
// was not started here has no launcher in the folder.
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

// launcherGrace is how long a launcher may take, beside the grace that it gives
// its own children, before it is killed. Only files would be left then.
const launcherGrace = 10 * time.Second

// endHolder asks the launcher to end and, if it does not in good time, kills
// it; the kernel then kills what it started.
func (l *Launcher) endHolder(ctx context.Context, f folder) error {
	launcher, err := findHolder(f)
	if err != nil {
		return err
	}
	if launcher == nil {
		l.progress("no cluster is up in %s", f)
		return tidy(f)
	}
	l.progress("ending the launcher, process %d", launcher.Pid)
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		launcher.Signal(signal) // an error means that it has ended
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

// findHolder returns the launcher of a folder, nil if there is none. It asks
// for the lock's holder a second time once it has a handle of the process: the
// handle cannot come to mean another process any more, and the second answer
// says that it meant the right one.
func findHolder(f folder) (*os.Process, error) {
	pid, err := f.holder()
	if err != nil || pid == 0 {
		return nil, err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	again, err := f.holder()
	if err != nil || again != pid {
		return nil, err
	}
	return process, nil
}

func awaitRelease(ctx context.Context, f folder, pid int, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	return poll(ctx, nil, func(context.Context) error {
		holder, err := f.holder()
		if err == nil && holder == pid {
			err = fmt.Errorf("process %d still holds %s", pid, f)
		}
		return err
	})
}

// tidy removes what a killed launcher has left. If a new one has come in the
// meantime, the folder is its own.
func tidy(f folder) error {
	if _, err := os.Stat(f.path("lock")); err != nil {
		return nil
	}
	lock, err := f.acquire() // cleans
	if errors.Is(err, errBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	return lock.Close()
}
