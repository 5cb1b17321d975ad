package process

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignCalls is the first number of the system calls of the x32 ABI.
	foreignCalls = 0x40000000
)

// allowedHere are more allowed system calls, which exist only on this architecture.
var allowedHere = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_ARCH_PRCTL}
