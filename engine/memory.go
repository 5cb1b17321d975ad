package engine

import (
	"context"
	"errors"
)

// A Memory is that of a process that the operating system bounds; see [Options]. Its methods may be called concurrently.
type Memory interface {
	// Full reports whether nearly all that the process may have is used, and not by garbage.
	Full() bool
	// Fits reports whether so many bytes more can be had. It may collect garbage to know.
	Fits(bytes int64) bool
}

// A monitor looks at the memory of this process while evaluations run, and stops those that take too much: a [watchdog], or
// in a process that the operating system bounds a [boundedMemory].
type monitor interface {
	// look measures, and acts if it must. It is called every few milliseconds while s runs.
	look(s *evaluation)
	// wait returns once there is room for so many bytes more, or ctx, that of s, is done. It is called by s.
	wait(ctx context.Context, s *evaluation, bytes int64)
	// remove says that s has ended, or was given up.
	remove(s *evaluation)
}

// boundedMemory stops the one evaluation of a process before the operating system ends the process for it: so it can still
// say where it stands.
type boundedMemory struct{ Memory }

// errFull is the cause of a ctx that boundedMemory ended.
var errFull = errors.New("the memory that the process may have is used up")

// look implements [monitor].
func (b boundedMemory) look(s *evaluation) {
	if b.Full() {
		s.stop(errFull)
	}
}

// wait implements [monitor].
func (b boundedMemory) wait(_ context.Context, s *evaluation, bytes int64) {
	if !b.Fits(bytes) {
		s.stop(errFull)
	}
}

// remove implements [monitor].
func (boundedMemory) remove(*evaluation) {}

// largeValue is of how many bytes a value is worth a look at the memory of the process.
const largeValue = 1 << 20

// WaitForMemory is for a [Runtime] to call in an evaluation, with its ctx, before it makes a value of so many bytes.
// Where that is a mebibyte or more it returns once the evaluations of this process together take no more memory than they
// may, or ctx is done, which is its error.
func WaitForMemory(ctx context.Context, bytes int64) error {
	if bytes < largeValue {
		return nil
	}
	if s, ok := ctx.Value(evaluationKey{}).(*evaluation); ok && s.monitor != nil {
		s.monitor.wait(ctx, s, bytes)
	}
	return ctx.Err()
}
