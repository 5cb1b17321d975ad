package simulation

import (
	"sync"

	"metascript/cmd/metascript/internal/report"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
)

// An observer prints what the server does, and stores what the expectations of a step are about.
type observer struct {
	*report.Reporter
	moment *moment

	mu     sync.Mutex // guards the fields below
	events []event
	errors []syncError
}

// An event is an event that the server recorded.
type event struct {
	about        string // the object, as object.Describe names it
	reason, note string
}

// A syncError is the error of a sync.
type syncError struct{ parent, text string }

// begin begins a step.
func (o *observer) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events, o.errors = nil, nil
}

// Wrote implements observe.Observer.
func (o *observer) Wrote(about observe.About, w observe.Write) {
	o.moment.wrote(about, w.Object)
	o.Reporter.Wrote(about, w)
}

// Event implements observe.Observer.
func (o *observer) Event(of *object.Object, e kube.Event) {
	o.mu.Lock()
	o.events = append(o.events, event{object.Describe(of), e.Reason, e.Note})
	o.mu.Unlock()
	o.Reporter.Event(of, e)
}

// Reconciled implements observe.Observer.
func (o *observer) Reconciled(about observe.About, failed error) {
	if failed != nil && !observe.Unsettled(failed) {
		o.mu.Lock()
		o.errors = append(o.errors, syncError{about.Parent.Kind.Kind + " " + about.Parent.String(), o.Failure(about.Controller, failed)})
		o.mu.Unlock()
	}
	o.Reporter.Reconciled(about, failed)
}

// seen returns the events and the errors since the step began.
func (o *observer) seen() ([]event, []syncError) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.events, o.errors
}
