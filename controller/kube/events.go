package kube

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"metascript/controller/eventbudget"
	"metascript/controller/object"
	"metascript/engine"
)

// maxNote is the maximum length of the message of an event in bytes. The API server refuses 1024 bytes and more.
const maxNote = 1000

// EventBudget limits the events about one object, so that a controller that always fails does not overload the API server.
type EventBudget struct {
	QPS   float32 // zero: one in 300 seconds
	Burst int     // zero: 25
}

// An Event is an event about an object.
type Event struct {
	Type, Reason string
	Note         string // one line, as it is recorded
	Detail       string // the note, with the lines of the script that it is about
}

// Events records events about objects. The events of controllers and the events that hooks return have separate budgets. That of hooks,
// which choose their reasons, is the one of client-go.
type Events struct {
	// Intercept, if it is not nil, is called with each event, and reports whether the event must not be recorded. It must be
	// set before the first event.
	Intercept func(o *object.Object, e Event) bool

	budget       EventBudget
	budgets      *eventbudget.Budgets // of the events of controllers
	broadcasters []record.EventBroadcaster
	own, hooks   record.EventRecorder
	muted        *atomic.Bool // the same for all clients
}

// NewEvents returns Events that records through client.
func NewEvents(client kubernetes.Interface, budget EventBudget) *Events {
	if budget.QPS <= 0 {
		budget.QPS = 1. / 300
	}
	if budget.Burst <= 0 {
		budget.Burst = 25
	}
	e := &Events{budget: budget, muted: &atomic.Bool{}}
	e.connect(client)
	return e
}

// Through returns Events with the same settings that records through another client. Mute of one mutes both.
func (e *Events) Through(client kubernetes.Interface) *Events {
	other := &Events{Intercept: e.Intercept, budget: e.budget, muted: e.muted}
	other.connect(client)
	return other
}

func (e *Events) connect(client kubernetes.Interface) {
	e.budgets = eventbudget.New(e.budget.QPS, e.budget.Burst)
	e.own = e.recorder(client, EventBudget{QPS: math.MaxFloat32, Burst: math.MaxInt32})
	e.hooks = e.recorder(client, e.budget)
}

func (e *Events) recorder(client kubernetes.Interface, budget EventBudget) record.EventRecorder {
	b := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{QPS: budget.QPS, BurstSize: budget.Burst})
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	e.broadcasters = append(e.broadcasters, b)
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "metacontroller"})
}

// Mute sets whether events are dropped.
func (e *Events) Mute(muted bool) { e.muted.Store(muted) }

// Shutdown stops recording events.
func (e *Events) Shutdown() {
	for _, b := range e.broadcasters {
		b.Shutdown()
	}
}

// Normal records an event of type Normal about o.
func (e *Events) Normal(o *object.Object, reason, format string, args ...any) {
	e.recordOwn(o, newEvent(corev1.EventTypeNormal, reason, format, args))
}

// Warning records an event of type Warning about o.
func (e *Events) Warning(o *object.Object, reason, format string, args ...any) {
	e.recordOwn(o, newEvent(corev1.EventTypeWarning, reason, format, args))
}

// HookEvent records an event that a hook returned. kind is the type of the event.
func (e *Events) HookEvent(o *object.Object, kind, reason, message string) {
	if event := newEvent(kind, engine.Clip(reason, 128), "%s", []any{message}); !e.dropped(o, event) {
		e.hooks.Event(reference(o), event.Type, event.Reason, event.Note)
	}
}

func (e *Events) recordOwn(o *object.Object, event Event) {
	if !e.dropped(o, event) && e.budgets.Take(o, event.Reason, event.Note) {
		e.own.Event(reference(o), event.Type, event.Reason, event.Note)
	}
}

// dropped reports whether an event must not be recorded.
func (e *Events) dropped(o *object.Object, event Event) bool {
	return e.muted.Load() || e.Intercept != nil && e.Intercept(o, event)
}

// reference returns the reference to o for an event.
func reference(o *object.Object) runtime.Object {
	return &corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}

// newEvent returns an event with a message. Its note has a length that the API server accepts.
func newEvent(kind, reason, format string, args []any) Event {
	note := engine.Clip(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "), maxNote)
	e := Event{Type: kind, Reason: reason, Note: note, Detail: note}
	detailed := slices.Clone(args)
	for i, arg := range args {
		if err, is := arg.(error); is && engine.DetailOf(err) != err.Error() {
			detailed[i] = engine.DetailOf(err)
			e.Detail = fmt.Sprintf(format, detailed...)
		}
	}
	return e
}
