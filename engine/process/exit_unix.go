//go:build unix

package process

import (
	"os"
	"syscall"
)

// killedBySystem reports whether a process was ended by the signal KILL. When that was not us, it was the kernel, which
// has no memory left.
func killedBySystem(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
