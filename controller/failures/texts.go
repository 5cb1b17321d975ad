package failures

import (
	"hash/maphash"
	"time"
)

// A TextID stands for the text of an error without the names of its parent, which several parents may share. The zero value is none. It is
// of this process only.
type TextID uint64

var seed = maphash.MakeSeed()

// TextOf returns the TextID of the error of a failure; none without an error.
func TextOf(f Failure) TextID {
	if f.Err == nil {
		return 0
	}
	return TextID(maphash.String(seed, withoutWord(withoutWord(f.Err.Error(), f.Parent.Name), f.Parent.Namespace)))
}

// Texts counts the parents that fail with each text. The zero value has none. It is not safe for concurrent use.
type Texts struct {
	of map[TextID]*failing
}

// failing are the parents that fail with one text.
type failing struct {
	parents int
	since   time.Time // when there was none before
}

// Move counts a parent that failed with one text, or none, for another one, or none. It reports whether there are parents with a text for
// the first time, or none any more.
func (t *Texts) Move(from, to TextID, now time.Time) (changed bool) {
	if from == to {
		return false
	}
	if of := t.of[from]; of != nil {
		if of.parents--; of.parents == 0 {
			delete(t.of, from)
			changed = true
		}
	}
	if to == 0 {
		return changed
	}
	if t.of == nil {
		t.of = map[TextID]*failing{}
	}
	of := t.of[to]
	if of == nil {
		of = &failing{since: now}
		t.of[to] = of
		changed = true
	}
	of.parents++
	return changed
}

// Since returns when the first of the parents that fail with a text did so; the zero time if there is none.
func (t *Texts) Since(text TextID) time.Time {
	if of := t.of[text]; of != nil {
		return of.since
	}
	return time.Time{}
}
