package reconcile

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"metascript/controller/build"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/redact"
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

// redacting is ctx for what is done about a parent, up to the call of done.
func (l *Reconciler) redacting(ctx context.Context, key object.Ref) (with context.Context, done func()) {
	r := redact.New(key.Kind.Kind, key.Namespace, key.Name, l.Name)
	r.Add(l.parent(key))
	if before, found := l.redacted.Load(key); found {
		r.After(before.(*redact.Redactor))
	}
	r.Add(l.Clients.Credentials.Secrets()...)
	r.Add(l.ownSecrets(key)...)
	l.redactors.Store(key, r)
	return l.through(ctx, r), func() {
		l.redactors.Delete(key)
		l.redacted.Delete(key)
		if parent := l.parent(key); parent != nil && l.isOurs(parent) && !r.Empty() {
			l.redacted.Store(key, r)
		}
	}
}

// through is ctx for what is done with r.
func (l *Reconciler) through(ctx context.Context, r *redact.Redactor) context.Context {
	return klog.NewContext(redact.NewContext(ctx, r), logr.FromSlogHandler(r.Handler(l.log.Handler())))
}

// ownSecrets are the Secrets among the children of a parent.
func (l *Reconciler) ownSecrets(key object.Ref) []*object.Object {
	cache, parent := l.cacheOf(object.Kind{Version: "v1", Kind: build.KindSecret}), l.parent(key)
	if cache == nil || parent == nil {
		return nil
	}
	return cache.OwnedBy(parent.GetUID())
}

// early is ctx for writes that come before the hooks are asked. While it is not known yet which Secrets the customize hook
// asks for, as after a restart, the API server may quote what is in them.
func (t *turn) early(ctx context.Context, key object.Ref) context.Context {
	_, before := t.redacted.Load(key)
	if t.Customize == nil || before || t.customizedOf(key).shown {
		return ctx
	}
	return t.through(ctx, redact.Withholding())
}

// redactor is that of what is being done about a parent, or nil.
func (l *Reconciler) redactor(parent object.Ref) *redact.Redactor {
	found, _ := l.redactors.Load(parent)
	r, _ := found.(*redact.Redactor)
	return r
}

// redactorOf is the redactor of the parent that a line of the log names, or nil.
func (l *Reconciler) redactorOf(record slog.Record) (found *redact.Redactor) {
	record.Attrs(func(a slog.Attr) bool {
		if a.Key != "parent" {
			return true
		}
		switch parent := a.Value.Any().(type) {
		case object.Ref:
			found = l.redactor(parent)
		case object.Key:
			l.redactors.Range(func(key, r any) bool {
				if key.(object.Ref).Key == parent {
					found = r.(*redact.Redactor)
				}
				return found == nil
			})
		}
		return false
	})
	return found
}

// parentEvents are events on the parents of a loop, and on its controller.
type parentEvents struct {
	*kube.Events
	loop *Reconciler
}

// Normal records that something happened to o.
func (e parentEvents) Normal(o *object.Object, reason, format string, args ...any) {
	e.Events.Normal(o, reason, format, e.loop.redactor(object.RefOf(o)).Args(args)...)
}

// Warning records that something went wrong with o.
func (e parentEvents) Warning(o *object.Object, reason, format string, args ...any) {
	e.Events.Warning(o, reason, format, e.loop.redactor(object.RefOf(o)).Args(args)...)
}

// Asked records an event that a hook asked for.
func (e parentEvents) Asked(o *object.Object, kind, reason, message string) {
	texts := e.loop.redactor(object.RefOf(o)).Texts([]string{reason, message})
	e.Events.Asked(o, kind, texts[0], texts[1])
}
