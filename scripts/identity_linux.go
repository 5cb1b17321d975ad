package scripts

import (
	"os"
	"syscall"
)

// An identity is what the file system calls a file, and when it last changed anything about it.
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

// still leaves out when it changed.
func (i identity) still() identity { return identity{device: i.device, inode: i.inode} }
