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

// folder is the absolute path of the directory of a cluster. It contains:
//
//	lock         locked by the launcher until it exits
//	kubeconfig   created when the cluster is ready, removed when it stops
//	state/       the files of the components, removed when the cluster stops
//	logs/        one file per component, kept until the next start
type folder string

// path returns the path of a file in the directory.
func (f folder) path(elements ...string) string {
	return filepath.Join(append([]string{string(f)}, elements...)...)
}

func (f folder) kubeconfig() string { return f.path("kubeconfig") }

func (f folder) log(component string) string { return f.path("logs", component+".log") }

// errBusy is the error of acquire if another launcher has the lock.
var errBusy = errors.New("another launcher runs a cluster there")

// acquire creates the directory if it does not exist, locks it, and removes the
// files that a killed launcher has left. The lock is released when the returned
// file is closed or the process exits.
//
// The lock is a POSIX record lock, and not a file with a process id. The kernel
// releases it whenever the process exits, and returns the id of the process
// that has the lock. So [folder.holder] never returns an old id that now belongs
// to another process.
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
		return nil, fmt.Errorf("directory %s: %w", f, err)
	}
	return lock, nil
}

// holder returns the id of the process that has the lock, or 0 if no process has
// it. The process that has the lock must not call holder: closing any file
// descriptor of the file releases the lock.
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
		return 0, fmt.Errorf("directory %s: find the process that has the lock: %w", f, err)
	}
	if request.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(request.Pid), nil
}

// clean removes the files of a stopped cluster, except its logs. It retries for
// some seconds: when a launcher is killed, the kernel first releases its lock
// and then kills its child processes, which may still write files.
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

// publish creates the kubeconfig, which means that the cluster is ready. It uses
// a rename, so that nobody reads an incomplete file.
func (f folder) publish(kubeconfig []byte) error {
	temporary := f.path("state", "kubeconfig.new")
	if err := os.WriteFile(temporary, kubeconfig, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, f.kubeconfig())
}
