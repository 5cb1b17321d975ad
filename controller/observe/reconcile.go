package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
)

// A Sink is told of each reconcile when it has ended: it keeps a history, records calls, or exports traces. Its methods are called by
// the workers, concurrently, but one at a time for one parent of one controller. They must be fast, must not block and must not change
// their arguments. What they keep or send must not have the values of Secrets; see Reconcile.Redactor.
//
// Unlike an [Observer], a Sink does not change in which order a reconcile writes.
type Sink interface {
	// Reconciled is called with a reconcile that was done. r and its slices may be kept, and so may its objects, but they keep the
	// versions of the objects in memory.
	Reconciled(r *Reconcile)
	// Remembered is called for a reconcile that was not done, because it would do the same as the one before: nothing. It is not
	// called for the resync of a parent of which no event has come since.
	Remembered(about About, why queue.Reason, source remember.Source)
}

// A Tracer is a Sink that makes spans of OpenTelemetry. The spans are begun while a reconcile runs, because its requests have to name
// them, and the Tracer ends them in Reconciled.
type Tracer interface {
	Sink
	// Start begins the span of a reconcile, and returns the context for what the reconcile does.
	Start(ctx context.Context) (context.Context, trace.Span)
}

// A Reconcile is what one reconcile of a parent has done.
type Reconcile struct {
	About
	UID    types.UID    // of the parent; "" if it does not exist any more
	Why    queue.Reason // the reasons
	Causes []Cause      // the changes among the reasons, the oldest first; at most MaxCauses
	Missed int          // how many changes are not in Causes

	Began time.Time
	Took  time.Duration
	Span  trace.Span // of the Tracer; nil if there is none

	Source remember.Source // of the answer
	Script string          // the digest of the scripts, in hexadecimal; "" without scripts
	Loaded *build.Loaded   // the version of the controller object; nil if it is not known
	Calls  []Call          // of hooks, in the order in which they ended
	Writes []Write         // in the order in which they ended; dry runs too
	Err    error           // nil if it did not fail. It has no values of Secrets

	Again  time.Duration // after which the parent is reconciled again although nothing changes; zero if it is not
	Retry  time.Duration // after which the reconcile is repeated, since it failed; zero if it is not
	Unseen int           // the writes that caches have to show before the next reconcile

	// Redactor has the values of Secrets that the reconcile has seen. They must be removed from every text that is made of the objects
	// and the responses: the objects themselves are not redacted. It must not be used after Reconciled has returned.
	Redactor *redact.Redactor
}

// MaxCauses is how many changes of objects are kept as the causes of a reconcile.
const MaxCauses = 8

// A Cause is a change of an object because of which a parent is reconciled.
type Cause struct {
	Reason queue.Reason // one reason
	At     time.Time    // when the event was handled
	Object object.Ref
	Change Change
	Fields []string // paths of fields that changed, such as "spec.replicas"; at most MaxFields
	More   bool     // more fields have changed
}

// MaxFields is how many paths a Cause has.
const MaxFields = 4

// A Change says what happened to an object.
type Change string

// The changes.
const (
	Created Change = "created"
	Changed Change = "changed"
	Deleted Change = "deleted"
)

// A Call is one call of a hook in a reconcile.
type Call struct {
	Name     string        // of the hook: sync, finalize or customize
	Revision string        // the ControllerRevision of the parent for which it was called; "" for the parent as it is
	Hook     hook.Hook     // that was called
	Request  *hook.Request // with request.now
	Response *hook.Response
	Err      error // then Response is nil. It has no values of Secrets

	Began time.Time
	Took  time.Duration
	Span  trace.Span // inside of that of the Reconcile; nil if that is not recorded
}
