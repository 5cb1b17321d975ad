package process

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// foreignCalls is beyond all calls.
	foreignCalls = 0x40000000
)

var allowedHere = []uint32{unix.SYS_PPOLL}
