package scripts

import (
	"os"
	"syscall"
)

// An identity identifies a file in the file system, and the time of its last change.
type identity struct {
	device, inode uint64
	changed       syscall.Timespec // ctime
}

// identify returns the identity of a file; it is the zero value if info does not have it.
func identify(info os.FileInfo) identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(s.Dev), s.Ino, s.Ctim}
}

// withoutTime returns the identity without the time of the last change.
func (i identity) withoutTime() identity { return identity{device: i.device, inode: i.inode} }
