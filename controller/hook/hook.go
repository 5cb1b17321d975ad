// Package hook calls the hooks of a controller. A [Hook] takes a [Request], which has the observed state, and returns a
// [Response], which has the desired state. There are two kinds: [Script] calls a function in our own process, [Webhook]
// posts the same JSON to a server. Both have the format of wire.go, which is Metacontroller's. A [Fallback] is a script with
// a webhook for while the script is broken.
//
// An [Endpoint] says how to connect to the server of a webhook, and may change while calls are made; a [Client] keeps
// connections that fit it. [Answers] keeps responses by their ETags, and [Metrics] counts calls.
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

// A Shape is which fields a request and its response have. The kinds of controllers differ in it, as Metacontroller's do.
type Shape int

// The shapes.
const (
	// Composite: controller, parent, children, related and finalizing are answered by status, children,
	// resyncAfterSeconds and finalized.
	Composite Shape = iota
	// Decorator: controller, object, attachments, related and finalizing are answered by labels, annotations, status,
	// attachments, resyncAfterSeconds and finalized.
	Decorator
	// Customizing: controller and parent are answered by relatedResources. It is the customize hook's, of both kinds.
	Customizing
)

// parent is the field of the object that it is about.
func (s Shape) parent() string {
	if s == Decorator {
		return "object"
	}
	return "parent"
}

// children is the field of what is made for it.
func (s Shape) children() string {
	if s == Decorator {
		return "attachments"
	}
	return "children"
}

// rules is the field of a controller's spec that declares kinds of children.
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
	Children   *object.Set // a group for every declared kind; a customize hook is not shown them
	Related    *object.Set
	Finalizing bool
	Expect     Expect

	// Versioned are the kinds of which two objects here with the same UID and resourceVersion are equal in every field, so
	// that what was derived from one may be kept. That holds for objects of caches, in one apiVersion.
	Versioned map[object.Kind]bool
}

// observed is how many children there are.
func (req *Request) observed() int {
	if req.Children == nil {
		return 0
	}
	return req.Children.Len()
}

// Expect says which children a response may have.
type Expect struct {
	Kinds       map[object.Kind]bool // the declared kinds; true: namespaced
	Labels      map[string]string    // put on every child (generateSelector)
	Annotations map[string]string    // put on every child (a decorator's mark)
	Selector    labels.Selector      // what every child's labels must match; nil matches all
}

// A Response has the desired state.
type Response struct {
	Shape       Shape          // of the request
	Status      map[string]any // the parent's new status; nil leaves it as it is
	Labels      Changes        // to the parent's labels, by a decorator
	Annotations Changes        // to its annotations
	Children    *object.Set    // in the order of the answer, complete: ready to be planned with
	ResyncAfter time.Duration  // after which the parent is reconciled again; zero: the hook does not ask for it
	Finalized   bool
	Related     []RelatedRule // of a customize hook, whose answer has nothing else
	Events      []Event       // to record on the parent
	Warnings    []string      // what was tolerated, in words, to be reported in an event on the parent

	// FillTimes says that conditions in Status may leave out lastTransitionTime, which is then filled in.
	FillTimes bool
}

// Changes are values to set, by key; nil removes one.
type Changes map[string]*string

// An Event is one that a hook wants recorded on the parent.
type Event struct{ Type, Reason, Message string }

// A RetryAfter is the error of a hook that asks to be called again later. It is no failure.
type RetryAfter struct {
	After       time.Duration // at least a second
	Unspecified bool          // it did not say when, or it cannot be read: back off
}

// Error implements error.
func (e *RetryAfter) Error() string {
	return fmt.Sprintf("the hook asks to be called again in %s", e.After)
}
