package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
)

// A ComparisonSink is a [Sink] that is also told of the comparisons with a candidate in spec.shadow.
type ComparisonSink interface {
	// Compared is called with a comparison, some time after Reconciled was called with the reconcile that it is about, if any. It is called by
	// another goroutine, one at a time for one controller. It must be fast and must not block. c may be kept.
	Compared(c *Comparison)
}

// A Comparison is what came of calling a candidate beside the script that runs, for one reconcile, or for a parent that was not
// reconciled since the candidate was loaded. Its texts have no values of Secrets.
type Comparison struct {
	About
	UID types.UID // of the parent

	Began  time.Time     // when the reconcile began: Reconcile.Began; zero: it is not about a reconcile, but about the parent as it is
	At     time.Time     // when the comparison ended
	Took   time.Duration // by the calls of the candidate
	Script string        // the digest of the candidate, "sha256:..."
	Live   string        // the digest of the scripts that run: Reconcile.Script

	Result     ComparisonResult
	Difference string          // the first difference of the answers, such as "ConfigMap default/w: data.color"; "" if there is none
	Child      object.Ref      // that Difference names; the zero value if it is about something else
	Writes     []ComparedWrite // what only one of the two versions would write
	More       int             // how many of them are not in Writes
	Err        error           // of the candidate; nil if it did not fail
}

// A ComparedWrite is a write to a child that only one of two versions would do.
type ComparedWrite struct {
	Live   bool // the version that runs would do it, and not the candidate
	Object object.Ref
	Text   string // the write, such as "delete ConfigMap default/w: no longer desired"; "not " comes before one that is Live
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
