package build

import (
	"maps"
	"reflect"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/scripts"
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

	later atomic.Int64 // a later generation with the same spec, apart from the shadow; see Covers
}

// SameBinding reports whether l and c differ in no more than the scripts. It is false if l is nil.
func (l *Loaded) SameBinding(c *Candidate) bool {
	return l != nil && l.UID == c.Object.GetUID() && l.sameSpec(c.Object) && reflect.DeepEqual(l.Resolved, c.Resolved)
}

// sameSpec reports whether the spec of o is that of l, apart from the shadow, which has no effect on the version that runs.
func (l *Loaded) sameSpec(o *object.Object) bool {
	generation := o.GetGeneration()
	if l.Generation == generation || l.Candidate == nil {
		return l.Generation == generation
	}
	before, _ := l.Candidate.Object.Field("spec")
	now, _ := o.Field("spec")
	return reflect.DeepEqual(WithoutShadow(before), WithoutShadow(now))
}

// Covers records that the version is that of a later generation of the controller object too, whose spec differs only in the shadow.
func (l *Loaded) Covers(generation int64) { l.later.Store(generation) }

// LatestGeneration returns the last generation of the controller object of which l is the version.
func (l *Loaded) LatestGeneration() int64 { return max(l.Generation, l.later.Load()) }

// WithoutShadow returns the spec of a controller object without the field shadow, which is about another version.
func WithoutShadow(spec any) any {
	content, isMap := spec.(map[string]any)
	if _, has := content["shadow"]; !isMap || !has {
		return spec
	}
	content = maps.Clone(content)
	delete(content, "shadow")
	return content
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

// ReadSources are the sources of a controller's scripts, and what was read from them.
type ReadSources struct {
	Wanted      map[string]scripts.Wanted // by the names of the parts
	Fingerprint string                    // of what was read; "" while it is being read
}

// UsesFiles reports whether some of the scripts are in files.
func (r *ReadSources) UsesFiles() bool {
	if r == nil {
		return false
	}
	for _, wanted := range r.Wanted {
		if wanted.UsesFiles() {
			return true
		}
	}
	return false
}

// ConcernedBy reports whether changes in files may change some of the scripts.
func (r *ReadSources) ConcernedBy(changes scripts.Changes) bool {
	if r == nil {
		return false // the first read is still to come
	}
	for _, wanted := range r.Wanted {
		if changes.Concern(wanted) {
			return true
		}
	}
	return false
}
