package controlplane

import "syscall"

// childAttributes returns the attributes of a child process. Each child process
// has its own process group: Ctrl-C in the terminal sends SIGINT only to the
// launcher, which then stops the child processes in order. If the launcher is
// killed before, the kernel kills the child processes.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
