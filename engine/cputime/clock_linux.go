package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Thread returns the clock of the calling thread, which counts from when it is first read. The goroutine must be locked to its
// thread. Any goroutine of the process may read it.
func Thread() Clock {
	id := clockOf(unix.Gettid(), ofThread)
	begun, base := false, time.Duration(0)
	return func() (time.Duration, bool) {
		now, ok := read(id)
		if !ok {
			return 0, false
		}
		if !begun {
			begun, base = true, now
		}
		return now - base, true
	}
}

// Process returns the clock of a process, which counts from now on. It needs no privilege, and the process cannot prevent it. The
// process must not have been waited for before the call.
func Process(pid int) Clock {
	id := clockOf(pid, ofProcess)
	base, ok := read(id)
	if !ok {
		return func() (time.Duration, bool) { return 0, false }
	}
	return func() (time.Duration, bool) {
		now, ok := read(id)
		return now - base, ok
	}
}

// The low bits of a clock id: they say that the clock counts CPU time, and whether of a process or of a thread. See
// clock_getcpuclockid(3) and include/linux/posix-timers_types.h.
const (
	ofProcess = 2
	ofThread  = 4 | 2
)

// clockOf returns the clock id for the process id or thread id.
func clockOf(id, what int) int32 { return int32(^id<<3 | what) }

// read returns the time of a clock, and false if it cannot be read.
func read(clock int32) (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
