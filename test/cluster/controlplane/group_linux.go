package controlplane

import "syscall"

// childAttributes returns each child a process group of its own, so that an
// interrupt typed at the terminal reaches only the launcher, which then ends
// the children in order, and has the kernel kill the child if the launcher
// dies without having done so.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
