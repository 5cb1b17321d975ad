package throttle

import (
	"errors"
	"time"

	"metascript/engine"
	"metascript/scripts"
)

// A LoadBackoff delays loading a version of a controller that could not be loaded for a reason that may pass, such as a
// busy machine. It is tried again at once, and then after delays that double, since a script whose top level does not end
// takes its whole timeout from those who wait to be loaded. Another version is not delayed.
//
// It is not safe for concurrent use. The zero value delays nothing.
type LoadBackoff struct {
	version string // what could not be loaded
	err     error
	times   int // in a row
	until   time.Time
}

// loadBackoff is the delay before a version is loaded again.
var loadBackoff = backoff{5 * time.Second, 5 * time.Minute}

// Transient reports whether err may be gone when the same is tried again: a script ran out of time, or files changed while
// they were read.
func Transient(err error) bool {
	var source *scripts.Error
	return engine.IsKind(err, engine.KindTimeout) || engine.IsKind(err, engine.KindCanceled) ||
		errors.As(err, &source) && source.Reason == scripts.Unsettled
}

// Blocked returns the error of the last try while a version must not be loaded yet, or nil.
func (b *LoadBackoff) Blocked(version string, now time.Time) error {
	if b.err != nil && b.version == version && now.Before(b.until) {
		return b.err
	}
	return nil
}

// Note records the result of loading a version. It reports whether the result is to be reported: not the first time, if
// it may be gone the next time.
func (b *LoadBackoff) Note(version string, err error, now time.Time) (report bool) {
	switch {
	case !Transient(err):
		*b = LoadBackoff{}
		return true
	case b.err == nil || b.version != version:
		*b = LoadBackoff{version: version, err: err, times: 1}
		return false
	case now.Before(b.until):
		return true
	}
	*b = LoadBackoff{version, err, b.times + 1, now.Add(loadBackoff.after(b.times - 1))}
	return true
}
