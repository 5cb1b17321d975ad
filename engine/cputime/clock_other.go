//go:build !linux

package cputime

import "time"

// Thread gives a clock that cannot be read: this system does not tell.
func Thread() Clock { return unreadable }

// Process gives a clock that cannot be read: this system does not tell.
func Process(int) Clock { return unreadable }

func unreadable() (time.Duration, bool) { return 0, false }
