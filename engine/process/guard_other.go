//go:build !linux || !(amd64 || arm64)

package process

import (
	"os"
	"runtime"
	"syscall"
)

// missingHere returns what the system lacks.
func missingHere() []string {
	return []string{"resource limits and seccomp, which are used on Linux only, for amd64 and arm64; this is " + runtime.GOOS + "/" + runtime.GOARCH}
}

func attributes() *syscall.SysProcAttr { return nil }

func enlarge(*os.File) {}

func lowerPriority() error { return nil }

// A guard does nothing on this system.
type guard struct{}

func harden(int64) (*guard, []string) { return &guard{}, missingHere() }

func (*guard) allow(int64, int64) error { return nil }
func (*guard) mapped() int64            { return 0 }

// Full implements [engine.Memory].
func (*guard) Full() bool { return false }

// Fits implements [engine.Memory].
func (*guard) Fits(int64) bool { return true }
