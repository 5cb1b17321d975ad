//go:build !linux

package controlplane

import "syscall"

// childAttributes returns each child a process group of its own, so that an
// interrupt typed at the terminal reaches only the launcher, which then ends
// the children in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
