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

// Process returns the clock of a process, which counts from now on. It needs no privilege, whatever the process may do. When
// it is made, the process must not have been waited for.
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

// What a clock's id says that it counts, besides whose it is: the time on a processor, of a process or of a thread. See
// clock_getcpuclockid(3) and include/linux/posix-timers_types.h.
const (
	ofProcess = 2
	ofThread  = 4 | 2
)

func clockOf(id, what int) int32 { return int32(^id<<3 | what) }

func read(clock int32) (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
