// Package observe has what a server tells about its work to the commands that show it.
package observe

import (
	"errors"
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"metascript/controller/apiserver"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/engine"
)

// An Observer is called with what a server does. Its methods may be called concurrently, but Wrote and Reconciled are called one
// at a time for one parent of one controller. They must not change their arguments.
type Observer interface {
	// Loaded is called when the hooks of a controller object begin to be used, and again each time they are replaced. parents are
	// those that the controller has then; each of them will be reconciled.
	Loaded(o *object.Object, parents iter.Seq[*object.Object])
	// Wrote is called after each write of a reconcile, also if it failed.
	Wrote(about About, write Write)
	// Printed is called with each message that a script prints in a call about a parent.
	Printed(about About, hook string, message engine.Message)
	// Event is called with each event on a parent or a controller object, also if it is not recorded in the cluster.
	Event(o *object.Object, e kube.Event)
	// Reconciled is called at the end of each reconcile, with its error, or nil; see Unsettled.
	Reconciled(about About, failed error)
	// Dropped is called after Reconciled if the controller does not have the parent, or not any more.
	Dropped(about About)
}

// A PlanObserver is an Observer that is also told what a reconcile leaves for later. The methods are called like Wrote.
type PlanObserver interface {
	Observer
	// Rolling is called with the writes to existing children of kinds that roll which are not as the latest revision of the parent has
	// them. The reconcile does at most those of one child now. Before is the child, and Stored is the child as the update changes it,
	// if that is known without a request.
	Rolling(about About, writes []Write)
	// Suppressed is called with the writes to children that their update methods do not permit.
	Suppressed(about About, left []plan.Op)
}

// About names a parent, and the controller object for which it is reconciled.
type About struct {
	Kind       string // of the controller object: a controller of the other kind may have the same name
	Controller string
	Parent     object.Ref
}

// A Write is an operation and its result.
type Write struct {
	plan.Op
	Began    time.Time
	Took     time.Duration
	Before   *object.Object   // from the cache, before the write; nil if it did not exist, or its kind has no cache
	Stored   *object.Object   // the result; nil if the write failed
	Err      error            // nil if the write did not fail
	Redactor *redact.Redactor // has the values of Secrets, which must not be shown of Before and Stored
	Span     trace.Span       // inside of that of the Reconcile; nil if that is not recorded
}

// Unsettled reports whether failed, the error of a reconcile, says only that objects changed during it, that caches were
// stale, or that the API server asks to wait. The reconcile is repeated soon, and is then expected to succeed.
func Unsettled(failed error) bool {
	return errors.Is(failed, kube.ErrRequeue) || apiserver.Held(failed) != nil
}
