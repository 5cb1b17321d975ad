package process

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// foreignCalls is larger than the number of any system call: this architecture has no second ABI.
	foreignCalls = 0x40000000
)

// allowedHere are more allowed system calls, which exist only on this architecture.
var allowedHere = []uint32{unix.SYS_PPOLL}
