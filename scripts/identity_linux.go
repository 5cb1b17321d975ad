package scripts

import (
	"os"
	"syscall"
)

// An identity identifies a file in the file system, and the time of its last change.
type identity struct {
	device, inode uint64
	changed       syscall.Timespec
}

func identify(info os.FileInfo) identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(s.Dev), s.Ino, s.Ctim}
}

// still returns the identity without the time of the change.
func (i identity) still() identity { return identity{device: i.device, inode: i.inode} }
