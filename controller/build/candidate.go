package build

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// A Candidate is a controller object as it is written, with what was found for it: what a loop is made of.
type Candidate struct {
	*spec.Declaration
	Object   *object.Object
	Resolved spec.Resolved
	Parts    Parts
	Identity string // of spec and scripts together
}

// Version says what a loop was made of. It is what status tells about the version that runs.
type Version struct {
	UID        types.UID
	Generation int64
	Resolved   spec.Resolved
	Built      Built
	Identity   string // of spec and scripts together
	LoadedAt   time.Time
	Candidate  *Candidate // that it was made of
}

// SameBinding reports whether the loop that runs, if one does, is that of c but for the scripts.
func (l *Version) SameBinding(c *Candidate) bool {
	return l != nil && l.UID == c.Object.GetUID() && l.Generation == c.Object.GetGeneration() && reflect.DeepEqual(l.Resolved, c.Resolved)
}

// Read reads the scripts of c as they are now.
func (c *Candidate) Read(loader *Loader) (err error) {
	if c.Parts, err = loader.Gather(c.Declaration); err == nil {
		c.Identity, err = Identity(c.Object.Object["spec"], c.Parts)
	}
	return err
}

// Fingerprint is what was read, in a word: it is another one when that is.
func (c *Candidate) Fingerprint(err error) string {
	if err != nil {
		return err.Error()
	}
	return c.Identity
}

// LoadedAt is when the scripts of that digest were put to use: now, or earlier, as the status has it, since a restart of the
// server is no new version.
func LoadedAt(before *v1alpha1.ScriptStatus, digest string, now time.Time) time.Time {
	if before != nil && before.Digest == digest && before.LoadedAt != nil {
		return before.LoadedAt.Time
	}
	return now
}

// ShortDigest is a digest for people.
func ShortDigest(digest string) string {
	const enough = len("sha256:") + 12
	return digest[:min(len(digest), enough)]
}
