package failures

import (
	"hash/maphash"
	"time"
)

// A Cause stands for the text of an error without the names of its parent: parents that fail because of the same have the same Cause. The
// zero value is none. It is of this process only.
type Cause uint64

var seed = maphash.MakeSeed()

// CauseOf returns the Cause of a failure; none without an error.
func CauseOf(f Failure) Cause {
	if f.Err == nil {
		return 0
	}
	return Cause(maphash.String(seed, withoutWord(withoutWord(f.Err.Error(), f.Parent.Name), f.Parent.Namespace)))
}

// Causes counts the parents that fail because of each Cause. The zero value has none. It is not safe for concurrent use.
type Causes struct {
	of map[Cause]*failing
}

// failing are the parents that fail because of one Cause.
type failing struct {
	parents int
	since   time.Time // when there was none before
}

// Move counts a parent that failed because of one Cause, or none, for another one, or none. It reports whether a Cause has begun or ended.
func (c *Causes) Move(from, to Cause, now time.Time) (changed bool) {
	if from == to {
		return false
	}
	if of := c.of[from]; of != nil {
		if of.parents--; of.parents == 0 {
			delete(c.of, from)
			changed = true
		}
	}
	if to == 0 {
		return changed
	}
	if c.of == nil {
		c.of = map[Cause]*failing{}
	}
	of := c.of[to]
	if of == nil {
		of = &failing{since: now}
		c.of[to] = of
		changed = true
	}
	of.parents++
	return changed
}

// Since returns when the first of the parents that fail because of a Cause did so; the zero time if there is none.
func (c *Causes) Since(cause Cause) time.Time {
	if of := c.of[cause]; of != nil {
		return of.since
	}
	return time.Time{}
}
