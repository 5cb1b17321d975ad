package reconcile

import (
	"context"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"metascript/controller/binding"
	"metascript/controller/call"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/references"
)

// What the Secrets hold that a reconcile sees is in no text about it. Every way to people leads through a Redactor, so that
// whoever adds a text need not think of it:
//
//   - errors of hooks, and what scripts print, in package hook; errors of writes and reads in package kube
//   - the error of a reconcile as a whole, in guarded, before anybody notes it
//   - the loop's log and its events, which find the Redactor by the parent that they are about
//   - what client-go logs, warnings of the API server among it, by the logger of the context
//   - errors of writes that come before the hooks are asked, which give no words of the API server (early)
//   - messages that we write into a parent's status, in withUpdated, and what observers show of a write

// redactors are the Redactors of the reconciles that run.
type redactors struct {
	b       *binding.Binding
	states  *states
	handler slog.Handler // of the log of client-go
	running sync.Map     // object.Ref of a parent -> *redact.Redactor
}

// begin returns the context for a reconcile of a parent. The caller must call done when it has ended.
func (r *redactors) begin(ctx context.Context, key object.Ref) (with context.Context, done func()) {
	hidden := redact.New(key.Kind.Kind, key.Namespace, key.Name, r.b.Name)
	hidden.Add(r.b.Parent(key))
	if state := r.states.find(key); state != nil && state.secrets != nil {
		hidden.After(state.secrets)
	}
	hidden.Add(r.b.Clients.Credentials.Secrets()...)
	hidden.Add(r.ownSecrets(key)...)
	r.running.Store(key, hidden)
	return r.in(ctx, hidden), func() {
		r.running.Delete(key)
		if state := r.states.find(key); state != nil {
			state.secrets = nil
		}
		if parent := r.b.Parent(key); parent != nil && r.b.IsOurs(parent) && !hidden.Empty() {
			r.states.of(key).secrets = hidden
		}
	}
}

// in returns a context whose texts hidden redacts.
func (r *redactors) in(ctx context.Context, hidden *redact.Redactor) context.Context {
	return klog.NewContext(redact.NewContext(ctx, hidden), logr.FromSlogHandler(hidden.Handler(r.handler)))
}

// ownSecrets are the Secrets among the children of a parent.
func (r *redactors) ownSecrets(key object.Ref) []*object.Object {
	cache, parent := r.b.CacheOf(object.Kind{Version: "v1", Kind: references.Secret}), r.b.Parent(key)
	if cache == nil || parent == nil {
		return nil
	}
	return cache.OwnedBy(parent.GetUID())
}

// of is the Redactor of the reconcile of a parent that runs, or nil.
func (r *redactors) of(parent object.Ref) *redact.Redactor {
	found, _ := r.running.Load(parent)
	hidden, _ := found.(*redact.Redactor)
	return hidden
}

// ofRecord is the Redactor of the parent that a line of the log names, or nil.
func (r *redactors) ofRecord(record slog.Record) (found *redact.Redactor) {
	record.Attrs(func(a slog.Attr) bool {
		if a.Key != "parent" {
			return true
		}
		if parent, ok := a.Value.Any().(object.Ref); ok {
			found = r.of(parent)
		}
		return false
	})
	return found
}

// early returns the context for writes that come before the hooks of a version are called. While it is not known yet which
// Secrets the customize hook asks for, as after a restart, the API server may quote what is in them.
func (r *redactors) early(ctx context.Context, v *call.Version, state *parentState) context.Context {
	if v.Customize == nil || state.secrets != nil || state.customize.Shown {
		return ctx
	}
	return r.in(ctx, redact.Withholding())
}

// parentEvents are events on the parents of a controller, and on the controller object, and its log.
type parentEvents struct {
	*kube.Events
	redactors *redactors
	log       *slog.Logger
}

// conflict reports what this controller and somebody else write in turns, in the log and in an event on parent.
func (e *parentEvents) conflict(parent *object.Object, what, detail string) {
	e.log.Warn("field conflict", "parent", object.RefOf(parent), "over", what, "detail", detail)
	e.Warning(parent, "FieldConflict", "%s: %s", what, detail)
}

// Normal records that something happened to o.
func (e *parentEvents) Normal(o *object.Object, reason, format string, args ...any) {
	e.Events.Normal(o, reason, format, e.redactors.of(object.RefOf(o)).Args(args)...)
}

// Warning records that something went wrong with o.
func (e *parentEvents) Warning(o *object.Object, reason, format string, args ...any) {
	e.Events.Warning(o, reason, format, e.redactors.of(object.RefOf(o)).Args(args)...)
}

// Asked records an event that a hook asked for.
func (e *parentEvents) Asked(o *object.Object, kind, reason, message string) {
	texts := e.redactors.of(object.RefOf(o)).Texts([]string{reason, message})
	e.Events.Asked(o, kind, texts[0], texts[1])
}
