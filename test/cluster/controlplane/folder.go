package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// folder is the absolute path of a cluster's files:
//
//	lock         held by the launcher for as long as it lives
//	kubeconfig   appears when the cluster is ready, vanishes when it stops
//	state/       what the components need; gone after a stop
//	logs/        one file a component; kept for reading until the next start
type folder string

func (f folder) path(elements ...string) string {
	return filepath.Join(append([]string{string(f)}, elements...)...)
}

func (f folder) kubeconfig() string { return f.path("kubeconfig") }

func (f folder) log(component string) string { return f.path("logs", component+".log") }

// errBusy says that another launcher holds the folder.
var errBusy = errors.New("another launcher keeps its cluster there")

// acquire creates the folder if need be, takes its lock and removes what a
// launcher that was killed has left. The lock lasts until the file is closed
// or the process ends.
//
// It is a POSIX record lock, not a file with a process id in it: the kernel
// drops it with the process however that ended, and tells who holds it, so the
// answer of [folder.holder] is never a stale id that some other program has
// been given since.
func (f folder) acquire() (*os.File, error) {
	if err := os.MkdirAll(f.path("logs"), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(f.path("lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	request := syscall.Flock_t{Type: syscall.F_WRLCK}
	err = syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &request)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = errBusy
	}
	if err == nil {
		err = f.clean()
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("folder %s: %w", f, err)
	}
	return lock, nil
}

// holder returns the id of the process that holds the lock, 0 if none does.
// It must not be called by the holder itself: closing any descriptor of the
// file would drop the lock.
func (f folder) holder() (int, error) {
	lock, err := os.OpenFile(f.path("lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	request := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(lock.Fd(), syscall.F_GETLK, &request); err != nil {
		return 0, fmt.Errorf("folder %s: ask who holds the lock: %w", f, err)
	}
	if request.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(request.Pid), nil
}

// clean removes the files of an ended cluster, except its logs. It tries again
// for a moment, because processes whose launcher was killed are ended by the
// kernel just after the lock is free and may write until then.
func (f folder) clean() error {
	var err error
	for range 100 {
		err = errors.Join(os.RemoveAll(f.path("state")), os.RemoveAll(f.kubeconfig()))
		if err == nil {
			return nil
		}
		time.Sleep(pollInterval)
	}
	return err
}

// publish makes the kubeconfig appear, whole, which says that all is ready.
func (f folder) publish(kubeconfig []byte) error {
	temporary := f.path("state", "kubeconfig.new")
	if err := os.WriteFile(temporary, kubeconfig, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, f.kubeconfig())
}
