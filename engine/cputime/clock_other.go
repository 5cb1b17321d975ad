//go:build !linux

package cputime

import "time"

// Thread returns a clock that cannot be read: this system does not report CPU time.
func Thread() Clock { return unreadable }

// Process returns a clock that cannot be read: this system does not report CPU time.
func Process(int) Clock { return unreadable }

func unreadable() (time.Duration, bool) { return 0, false }
