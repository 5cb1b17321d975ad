package engine

import (
	"context"
	"errors"
)

// A Memory is the memory of a process that the operating system limits; see [Options]. Its methods may be called concurrently.
type Memory interface {
	// Full reports whether nearly all memory of the process is used by live objects.
	Full() bool
	// Fits reports whether that many more bytes are available. It may collect garbage to find out.
	Fits(bytes int64) bool
}

// A monitor checks the memory of this process while evaluations run, and stops those that use too much: a [watchdog], or in a
// process that the operating system limits a [boundedMemory].
type monitor interface {
	// look measures, and stops evaluations if necessary. It is called every few milliseconds while s runs.
	look(s *evaluation)
	// wait waits until that many more bytes are available, or ctx, the ctx of s, is done. s calls it.
	wait(ctx context.Context, s *evaluation, bytes int64)
	// remove removes s, which has ended or was abandoned.
	remove(s *evaluation)
}

// boundedMemory stops the one evaluation of a process before the operating system kills the process for it, so that its error
// has a position.
type boundedMemory struct{ Memory }

// errFull is the cause of a ctx that boundedMemory canceled.
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

// largeValue is the size of a value, in bytes, from which the memory of the process is checked before it is made.
const largeValue = 1 << 20

// WaitForMemory is called by a [Runtime] in an evaluation, with the ctx of the evaluation, before it makes a value of that
// many bytes. If that is a mebibyte or more, it waits until the evaluations of this process together use no more memory than
// they may, or until ctx is done, and then returns the error of ctx.
func WaitForMemory(ctx context.Context, bytes int64) error {
	if bytes < largeValue {
		return nil
	}
	if s, ok := ctx.Value(evaluationKey{}).(*evaluation); ok && s.monitor != nil {
		s.monitor.wait(ctx, s, bytes)
	}
	return ctx.Err()
}
