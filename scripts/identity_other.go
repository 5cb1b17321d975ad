//go:build !linux

package scripts

import "os"

// An identity is empty on this system: files are compared by size and time.
type identity struct{}

func identify(os.FileInfo) identity { return identity{} }

func (i identity) withoutTime() identity { return i }
