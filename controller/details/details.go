// Package details records the details of the status of controllers with accounts.
//
// Users of all tenants may read the status of a controller object, and the events about it, which are in the namespace default. So for
// a controller with an account they leave out names and texts of errors; see status.Details. A [Reporter] records these as events in the
// namespace of the account, as the account.
package details

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/controller/status"
)

// A Reporter records the details of all controllers of a server. It is safe for concurrent use, but Report and Forget of the same
// controller must not be called concurrently.
type Reporter struct {
	actors *kube.Actors
	log    *slog.Logger

	mu   sync.Mutex // guards told
	told map[spec.ID]*told
}

// told is what was recorded of one controller. Only Report and Forget use it.
type told struct {
	who    account.Account
	events *kube.Events // of the account
	last   map[string]record
}

// A record is the last event about a condition.
type record struct {
	text string
	at   time.Time
}

// repeatAfter is how often a detail is recorded that does not change. API servers keep an event for an hour.
const repeatAfter = 30 * time.Minute

// NewReporter returns a Reporter that records the details of a controller as its account, and logs them.
func NewReporter(actors *kube.Actors, log *slog.Logger) *Reporter {
	return &Reporter{actors: actors, log: log, told: map[spec.ID]*told{}}
}

// Report records the details of the controller object o, if they have changed or were recorded some time ago.
func (r *Reporter) Report(d *spec.Declaration, o *object.Object, details []status.Detail, now time.Time) error {
	if len(details) == 0 && r.of(d.ID()) == nil {
		return nil
	}
	known, err := r.open(d)
	if err != nil || known == nil {
		return err
	}
	about, before := in(known.who.Namespace, o), known.last
	known.last = map[string]record{}
	for _, detail := range details {
		text := line(detail)
		last, seen := before[detail.Condition]
		if !seen || last.text != text || now.Sub(last.at) >= repeatAfter {
			r.log.Info("details of the status", "controller", d.Object.Name, "condition", detail.Condition, "reason", detail.Reason, "message", detail.Message)
			known.record(about, detail, text)
			last = record{text, now}
		}
		known.last[detail.Condition] = last
	}
	return nil
}

func (r *Reporter) of(id spec.ID) *told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[id]
}

// open returns what was recorded of a controller as its account; nil if it has no account any more.
func (r *Reporter) open(d *spec.Declaration) (*told, error) {
	who := account.Of(d.Settings.ServiceAccount)
	if known := r.of(d.ID()); known != nil && known.who == who {
		return known, nil
	}
	r.Forget(d.ID())
	if who.IsServer() {
		return nil, nil
	}
	actor, err := r.actors.Open(who)
	if err != nil {
		return nil, err
	}
	known := &told{who: who, events: actor.Events}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[d.ID()] = known
	return known, nil
}

func (t *told) record(about *object.Object, detail status.Detail, text string) {
	if detail.Good {
		t.events.Normal(about, detail.Reason, "%s: %s", detail.Condition, text)
	} else {
		t.events.Warning(about, detail.Reason, "%s: %s", detail.Condition, text)
	}
}

// line returns the text of a detail for an event. The other lines of the error of a script show the script; those of the condition
// GuardPassed are examples of writes.
func line(d status.Detail) string {
	if d.Condition == v1alpha1.ConditionGuardPassed {
		return d.Message
	}
	first, _, _ := strings.Cut(d.Message, "\n")
	return first
}

// in returns a reference to o for events in a namespace. The API server accepts only events about objects that seem to be in theirs.
func in(namespace string, o *object.Object) *object.Object {
	about := &object.Object{}
	about.SetAPIVersion(o.GetAPIVersion())
	about.SetKind(o.GetKind())
	about.SetNamespace(namespace)
	about.SetName(o.GetName())
	about.SetUID(o.GetUID())
	return about
}

// Forget drops what was recorded of a controller.
func (r *Reporter) Forget(id spec.ID) {
	r.mu.Lock()
	known := r.told[id]
	delete(r.told, id)
	r.mu.Unlock()
	if known != nil {
		r.actors.Close(known.who)
	}
}

// Close drops what was recorded of all controllers.
func (r *Reporter) Close() {
	r.mu.Lock()
	all := make([]spec.ID, 0, len(r.told))
	for id := range r.told {
		all = append(all, id)
	}
	r.mu.Unlock()
	for _, id := range all {
		r.Forget(id)
	}
}
