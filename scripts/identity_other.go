//go:build !linux

package scripts

import "os"

// An identity would be what the file system calls a file; here size and time must do.
type identity struct{}

func identify(os.FileInfo) identity { return identity{} }

func (i identity) still() identity { return i }
