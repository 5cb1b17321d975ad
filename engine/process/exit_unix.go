//go:build unix

package process

import (
	"os"
	"syscall"
)

// killedBySystem reports whether a process was ended by the signal KILL. If this process has not sent it, the kernel has, because
// no memory is left.
func killedBySystem(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
