package kube

import (
	"fmt"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"metascript/controller/object"
	"metascript/engine"
)

// maxNote is how long an event's message may be: the API server refuses 1024 bytes and more.
const maxNote = 1000

// EventBudget bounds events about one object, so that a controller that fails for ever does not flood the server.
type EventBudget struct {
	QPS   float32 // zero: one in 300 seconds
	Burst int     // zero: 25
}

// Events records events about objects. What controllers report and what hooks ask for have budgets of their own.
type Events struct {
	// Divert, if it is set before there are any, is given each event, and reports whether it is not to be recorded.
	Intercept func(o *object.Object, kind, reason, note string) bool

	broadcasters []record.EventBroadcaster
	own, asked   record.EventRecorder
	muted        atomic.Bool
}

// NewEvents records through client.
func NewEvents(client kubernetes.Interface, budget EventBudget) *Events {
	if budget.QPS <= 0 {
		budget.QPS = 1. / 300
	}
	if budget.Burst <= 0 {
		budget.Burst = 25
	}
	e := &Events{}
	e.own, e.asked = e.recorder(client, budget), e.recorder(client, budget)
	return e
}

func (e *Events) recorder(client kubernetes.Interface, budget EventBudget) record.EventRecorder {
	b := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{QPS: budget.QPS, BurstSize: budget.Burst})
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	e.broadcasters = append(e.broadcasters, b)
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "metacontroller"})
}

// Mute has events dropped, until it is called with false.
func (e *Events) Mute(muted bool) { e.muted.Store(muted) }

// Shutdown ends the recording.
func (e *Events) Shutdown() {
	for _, b := range e.broadcasters {
		b.Shutdown()
	}
}

// Normal records that something happened to o.
func (e *Events) Normal(o *object.Object, reason, format string, args ...any) {
	e.record(e.own, o, corev1.EventTypeNormal, reason, note(format, args))
}

// Warning records that something went wrong with o.
func (e *Events) Warning(o *object.Object, reason, format string, args ...any) {
	e.record(e.own, o, corev1.EventTypeWarning, reason, note(format, args))
}

// Asked records an event that a hook asked for.
func (e *Events) HookEvent(o *object.Object, kind, reason, message string) {
	e.record(e.asked, o, kind, engine.Clip(reason, 128), note("%s", []any{message}))
}

func (e *Events) record(recorder record.EventRecorder, o *object.Object, kind, reason, note string) {
	if e.muted.Load() || e.Intercept != nil && e.Intercept(o, kind, reason, note) {
		return
	}
	recorder.Event(reference(o), kind, reason, note)
}

// reference is what an event says of its object, so that recording needs nothing else of it.
func reference(o *object.Object) runtime.Object {
	return &corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}

// note is a message as one line that the API server takes.
func note(format string, args []any) string {
	return engine.Clip(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "), maxNote)
}
