//go:build !linux

package controlplane

import "syscall"

// childAttributes returns the attributes of a child process. Each child process
// has its own process group: Ctrl-C in the terminal sends SIGINT only to the
// launcher, which then stops the child processes in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
