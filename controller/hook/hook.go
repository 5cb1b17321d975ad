// Package hook has the hooks of a controller, which are scripts and webhooks, and the format of their requests and responses.
//
// A [Hook] takes a [Request], which has the observed state, and returns a [Response], which has the desired state. There are two
// kinds: [Script] calls a function of a script, [Webhook] posts the same JSON to a server. Both have the format of wire.go, which is
// Metacontroller's. A [Fallback] is a script with a webhook that is called while the script is broken.
//
// An [Endpoint] says how to connect to the server of a webhook, and may change while calls are made; a [Client] has
// the connections for it. Package etags caches responses by their ETags.
//
// A response is checked here, before anything is done with it: a child without a name, of a kind that was not declared, or
// with labels that its parent does not select is an error that names the child by its index and kind. Scripts are checked
// strictly, webhooks as Metacontroller does.
package hook

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/etags"
	"metascript/controller/object"
)

// The hooks of a controller.
const (
	Sync      = "sync"
	Finalize  = "finalize"
	Customize = "customize"
)

// The versions of the wire protocol, which differ in the keys of children.
const (
	V1 = "v1"
	V2 = "v2"
)

// A Hook is a controller's business logic. Call may be called concurrently.
type Hook interface {
	Call(ctx context.Context, req *Request) (*Response, error)
}

// A Shape says which fields a request and its response have. Each kind of controller has its own, as in Metacontroller.
type Shape int

// The shapes.
const (
	// Composite: the request has controller, parent, children, related and finalizing; the response has status, children,
	// resyncAfterSeconds and finalized.
	Composite Shape = iota
	// Decorator: the request has controller, object, attachments, related and finalizing; the response has labels, annotations,
	// status, attachments, resyncAfterSeconds and finalized.
	Decorator
	// Customizing is for the customize hook of both kinds: the request has controller and parent; the response has
	// relatedResources.
	Customizing
)

// parent returns the name of the field with the parent.
func (s Shape) parent() string {
	if s == Decorator {
		return "object"
	}
	return "parent"
}

// children returns the name of the field with the children.
func (s Shape) children() string {
	if s == Decorator {
		return "attachments"
	}
	return "children"
}

// other returns the shape for the other kind of controller.
func (s Shape) other() Shape {
	if s == Decorator {
		return Composite
	}
	return Decorator
}

// String returns the kind of the controllers that it is for.
func (s Shape) String() string {
	return [...]string{Composite: "CompositeController", Decorator: "DecoratorController", Customizing: "customize hook"}[s]
}

// list returns the name of the field with the list that a response consists of.
func (s Shape) list() string {
	if s == Customizing {
		return fieldRelated
	}
	return s.children()
}

// rules returns the name of the field of the controller's spec that declares kinds of children.
func (s Shape) rules() string {
	if s == Decorator {
		return "attachments"
	}
	return "childResources"
}

// A Request has the observed state. Its objects are shared with caches and are not changed.
type Request struct {
	Shape      Shape
	Controller *object.Object // without status and managedFields
	Parent     *object.Object
	Children   *object.Set // a group for every declared kind; they are not encoded for a customize hook, which does not get them
	Related    *object.Set
	Finalizing bool
	Expect     Expect
	Now        time.Time        // request.now; zero: the time of the call. A webhook does not get it
	Recorder   *object.Recorder // of what a script reads of the objects; nil: it is not recorded

	Draws *Draws // the random values that a script got; nil: they are not kept

	// Settled reports whether nothing follows from a cached response of a webhook, so that it need not be decoded; nil: something may.
	Settled func(cached etags.ID) bool

	// Versioned are the kinds of which two objects in requests with the same UID and resourceVersion are equal in every
	// field, so that what was computed from one may be cached; see binding.IdentityKinds.
	Versioned map[object.Kind]bool
}

// observed returns the number of children that are not being deleted.
func (req *Request) observed() (n int) {
	if req.Children == nil {
		return 0
	}
	for child := range req.Children.All() {
		if !object.Deleting(child) {
			n++
		}
	}
	return n
}

// Expect says which children a response may have.
type Expect struct {
	Kinds       map[object.Kind]bool // the declared kinds; true: namespaced
	Labels      map[string]string    // added to every child, for generateSelector
	Annotations map[string]string    // added to every child of a decorator
	Selector    labels.Selector      // must match the labels of every child; nil matches all
}

// A Response has the desired state.
type Response struct {
	Shape       Shape          // of the request
	Status      map[string]any // the parent's new status; nil leaves it as it is
	Labels      Changes        // to the parent's labels, by a decorator
	Annotations Changes        // to its annotations
	Children    *object.Set    // in the order of the response, completed for the plan
	ResyncAfter time.Duration  // after which the parent is reconciled again; zero if the hook did not request it
	Finalized   bool
	Holders     Holders // which are not deleted to be recreated

	NotFinalized bool // the hook returned that finalization is not complete; without effect, but a part of the answer

	Cached  etags.ID // the cached response of a webhook that this is; zero: none
	Settled bool     // nothing follows from Cached, which was not decoded: no other field is set

	Related  []RelatedRule // of a customize hook, whose response has no other field
	Events   []Event       // to record on the parent
	Warnings []error       // about mistakes that were tolerated, for events on the parent; see MaxWarnings
	Unread   error         // the warning that all children are deleted, for no reason that the script has read, or that the webhook says; nil: none

	// Indexes are the positions of the children in the list that the hook returned; see Place.
	Indexes map[object.Ref]int

	// FillTimes says that conditions in Status may leave out lastTransitionTime, which is then filled in.
	FillTimes bool

	further int // how many warnings there are beside those in Warnings, while the answer is decoded

	// locate adds the place in the script to an error about the response; nil for the response of a webhook.
	locate func(error) error
}

// Changes are values to set, by key; nil removes one.
type Changes map[string]*string

// An Event is an event that a hook returned, to record on the parent.
type Event struct{ Type, Reason, Message string }

// A RetryAfter is the error of a hook that requests to be called again later. It is not a failure.
type RetryAfter struct {
	After       time.Duration // at least a second
	Unspecified bool          // there was no valid time: the caller backs off
}

// Error implements error.
func (e *RetryAfter) Error() string {
	return fmt.Sprintf("the hook asks to be called again in %s", e.After)
}
