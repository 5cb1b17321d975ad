package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A ComparisonSink is a [Sink] that is also told of the comparisons with a candidate in spec.shadow.
type ComparisonSink interface {
	// Compared is called with a comparison, some time after Reconciled was called with the reconcile that it is about. It is called by
	// another goroutine, one at a time for one controller. It must be fast and must not block. c may be kept.
	Compared(c *Comparison)
}

// A Comparison is what came of calling a candidate beside the script that runs, for one reconcile. Its texts have no values of Secrets.
type Comparison struct {
	About
	UID  types.UID // of the parent
	Kind string    // of the controller object

	Began  time.Time     // when the reconcile began: Reconcile.Began
	At     time.Time     // when the comparison ended
	Took   time.Duration // by the calls of the candidate
	Script string        // the digest of the candidate, "sha256:..."

	Result     ComparisonResult
	Difference string   // the first difference of the answers, such as "ConfigMap default/w: data.color"; "" if there is none
	Writes     []string // what only one of the two versions would write; those of the version that runs begin with "not "
	Err        error    // of the candidate; nil if it did not fail
}

// A ComparisonResult is the result of a comparison.
type ComparisonResult string

// The results.
const (
	Agrees  ComparisonResult = "agrees"
	Differs ComparisonResult = "differs"
	Failed  ComparisonResult = "error"   // the candidate failed, and the script that runs did not
	Dropped ComparisonResult = "dropped" // the candidate was not called, since it cannot keep up or exceeds a limit; there are no other fields
)
