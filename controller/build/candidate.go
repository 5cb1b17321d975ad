package build

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// A Candidate is a controller object as it is written, with its resources and scripts. A Reconciler can be made of it.
type Candidate struct {
	*spec.Declaration
	Object   *object.Object
	Resolved spec.Resolved // the resources that the declaration names
	Parts    Parts         // its scripts, set by Read
	Identity string        // of spec and scripts together, set by Read
}

// Loaded is a controller object as it was loaded: the version of it that runs. The status of the controller object reports it.
type Loaded struct {
	UID        types.UID // of the controller object
	Generation int64     // of the controller object
	Resolved   spec.Resolved
	Built      Built
	Identity   string     // of spec and scripts together
	LoadedAt   time.Time  // since when these scripts run; see the function LoadedAt
	Candidate  *Candidate // of which the version was made
}

// SameBinding reports whether l and c differ in no more than the scripts. It is false if l is nil.
func (l *Loaded) SameBinding(c *Candidate) bool {
	return l != nil && l.UID == c.Object.GetUID() && l.Generation == c.Object.GetGeneration() && reflect.DeepEqual(l.Resolved, c.Resolved)
}

// Read reads the scripts of c from their sources. It sets Parts and Identity.
func (c *Candidate) Read(b *Builder) (err error) {
	if c.Parts, err = b.read(c.Declaration); err == nil {
		declared, _ := c.Object.Field("spec")
		c.Identity, err = Identity(declared, c.Parts)
	}
	return err
}

// Fingerprint returns a text that changes if Read gives another result: the Identity, or the text of err, which Read returned.
func (c *Candidate) Fingerprint(err error) string {
	if err != nil {
		return err.Error()
	}
	return c.Identity
}

// LoadedAt returns since when the scripts with that digest run. This is now, or the time in the status if the status has the
// same digest: a restart of the server is not a new version. before is the status of the scripts, or nil.
func LoadedAt(before *v1alpha1.ScriptStatus, digest string, now time.Time) time.Time {
	if before != nil && before.Digest == digest && before.LoadedAt != nil {
		return before.LoadedAt.Time
	}
	return now
}
