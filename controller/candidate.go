package controller

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// A candidate is a controller object as it is written, with what was found for it: what a loop is made of.
type candidate struct {
	*declaration
	object   *object.Object
	found    resolved
	parts    parts
	identity string // of spec and scripts together
}

// loaded says what a loop was made of. It is what status tells about the version that runs.
type loaded struct {
	uid        types.UID
	generation int64
	found      resolved
	hooks      loadedHooks
	identity   string // of spec and scripts together
	at         time.Time
	of         *candidate // that it was made of
}

// fits reports whether the loop that runs, if one does, is that of c but for the scripts.
func (l *loaded) fits(c *candidate) bool {
	return l != nil && l.uid == c.object.GetUID() && l.generation == c.object.GetGeneration() && reflect.DeepEqual(l.found, c.found)
}

// read reads the scripts of c as they are now.
func (c *candidate) read(loader *hookLoader) (err error) {
	if c.parts, err = loader.gather(c.declaration); err == nil {
		c.identity, err = identity(c.object.Object["spec"], c.parts)
	}
	return err
}

// sight is what was read, in a word: it is another one when that is.
func (c *candidate) sight(err error) string {
	if err != nil {
		return err.Error()
	}
	return c.identity
}

// loadedAt is when the scripts of that digest were put to use: now, or earlier, as the status has it, since a restart of the
// server is no new version.
func loadedAt(before *v1alpha1.ScriptStatus, digest string, now time.Time) time.Time {
	if before != nil && before.Digest == digest && before.LoadedAt != nil {
		return before.LoadedAt.Time
	}
	return now
}

// short is a digest for people.
func short(digest string) string {
	const enough = len("sha256:") + 12
	return digest[:min(len(digest), enough)]
}
