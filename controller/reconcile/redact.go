package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"strings"
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

// No text about a reconcile may show the values of Secrets that the reconcile sees. Each way by which texts leave it uses a
// redact.Redactor, so that code that adds a text need not do anything:
//
//   - errors of hooks, and messages that scripts print: package hook; errors of reads and writes: package kube, and before the hooks
//     are called beforeHooks; the error of a reconcile: reconcileRecovering, before any other code uses it
//   - the log of the Reconciler, and events, by the parent that they are about; the log of client-go: by the logger in the context
//   - messages in the status of a parent: withUpdatedCondition; objects that an Observer shows: Write.Redactor

// redactors are the Redactors of the reconciles that are running.
type redactors struct {
	binding *binding.Binding
	states  *states
	handler slog.Handler // for the log of client-go
	running sync.Map     // map[object.Ref]*redact.Redactor, by parent; an entry lasts as long as a reconcile
}

// begin returns the context for a reconcile of a parent. The caller must call done when the reconcile has ended. Both must be
// called by the goroutine that processes the parent.
func (r *redactors) begin(ctx context.Context, key object.Ref) (with context.Context, done func()) {
	redactor := redact.New(key.Kind.Kind, key.Namespace, key.Name, r.binding.Name)
	parent := r.binding.Parent(key)
	redactor.Add(parent)
	redactor.AddPublic(parent)
	redactor.SetOrigin(r.binding)
	if state := r.states.find(key); state != nil {
		redactor.AddPast(state.secrets.Load())
		if state.public.last != nil && parent != nil {
			state.public.note(parent)
		}
		redactor.AddPublicTexts(state.public.texts...)
	}
	redactor.Add(r.binding.Clients.Credentials.Secrets()...)
	redactor.Add(r.childSecrets(key)...)
	r.running.Store(key, redactor)
	return r.withRedactor(ctx, redactor), func() {
		r.running.Delete(key)
		if state := r.states.find(key); state != nil {
			state.secrets.Store(nil)
		}
		if now := r.binding.Parent(key); now != nil && r.binding.Reconciles(now) && !redactor.Empty() {
			state := r.states.of(key)
			state.secrets.Store(redactor.Kept())
			if parent != nil {
				state.public.note(parent)
			}
		}
	}
}

// A publicPast has the texts that users removed from a parent, so that they stay public: a text can have them, for example as the value of a child
// before it is changed. The zero value has none.
type publicPast struct {
	last  *object.Object // the parent of the last reconcile
	texts []string       // in the order in which they were removed
	size  int            // of these, in bytes
}

// maxPublicPast is the size of the texts in a publicPast in bytes. A change that removes more than half of it is left out, so that it does not drop
// the others.
const maxPublicPast = 32 << 10

// note notes the parent of a reconcile.
func (p *publicPast) note(parent *object.Object) {
	last := p.last
	if p.last = parent; last == nil || last == parent {
		return
	}
	before, now := redact.PublicTexts(last), redact.PublicTexts(parent)
	if slices.Equal(before, now) {
		return
	}
	seen := make(map[string]bool, len(now)+len(p.texts))
	for _, text := range slices.Concat(now, p.texts) {
		seen[text] = true
	}
	var removed []string
	size := 0
	for _, text := range before {
		if !seen[text] {
			seen[text] = true
			removed, size = append(removed, strings.Clone(text)), size+len(text) // a copy, which does not keep the object in memory
		}
	}
	if size > maxPublicPast/2 {
		return
	}
	drop := 0
	for p.size += size; p.size > maxPublicPast; drop++ {
		p.size -= len(p.texts[drop])
	}
	p.texts = slices.Concat(p.texts[drop:], removed)
}

// withRedactor returns a context with a Redactor, and with a logger for client-go that uses it.
func (r *redactors) withRedactor(ctx context.Context, redactor *redact.Redactor) context.Context {
	return klog.NewContext(redact.NewContext(ctx, redactor), logr.FromSlogHandler(redactor.Handler(r.handler)))
}

// childSecrets returns the Secrets that a parent owns, if Secrets are among the kinds of children.
func (r *redactors) childSecrets(key object.Ref) []*object.Object {
	cache, parent := r.binding.CacheOf(object.Kind{Version: "v1", Kind: references.Secret}), r.binding.Parent(key)
	if cache == nil || parent == nil {
		return nil
	}
	return cache.OwnedBy(parent.GetUID())
}

// of returns the Redactor of the reconcile of a parent; nil if none is running.
func (r *redactors) of(parent object.Ref) *redact.Redactor {
	found, _ := r.running.Load(parent)
	redactor, _ := found.(*redact.Redactor)
	return redactor
}

// last returns the Redactor of the reconcile of a parent that is running, or of the last one; nil if it saw no Secrets.
func (r *redactors) last(parent object.Ref) *redact.Redactor {
	if running := r.of(parent); running != nil {
		return running
	}
	if state := r.states.find(parent); state != nil {
		return state.secrets.Load()
	}
	return nil
}

// forRecord returns the Redactor for a log record, by its attribute "parent"; nil if there is none.
func (r *redactors) forRecord(record slog.Record) (found *redact.Redactor) {
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

// beforeHooks returns the context for writes before the hooks of v are called. The API server may quote Secrets in its errors. If
// it is not known yet which Secrets the customize hook requests, as after a restart, the texts of its errors are left out.
func (r *redactors) beforeHooks(ctx context.Context, v *call.Version, state *parentState) context.Context {
	if v.Customize == nil || state.secrets.Load() != nil || state.customize.Selected {
		return ctx
	}
	return r.withRedactor(ctx, redact.Withholding())
}

// parentEvents records events on the parents of a controller and on the controller object, and has its log. All texts are
// redacted.
type parentEvents struct {
	*kube.Events
	redactors *redactors
	log       *slog.Logger
}

// debugs reports whether the log has what is said of each reconcile. Otherwise its values need not be made.
func (e *parentEvents) debugs() bool { return e.log.Enabled(context.Background(), slog.LevelDebug) }

// Conflict reports, in the log and by an event on parent, what both this controller and something else write again and again.
func (e *parentEvents) Conflict(parent *object.Object, what, detail string) {
	e.log.Warn("field conflict", "parent", object.RefOf(parent), "field", what, "detail", detail)
	e.Warning(parent, "FieldConflict", "%s: %s", what, detail)
}

// Normal records an event of type Normal on o.
func (e *parentEvents) Normal(o *object.Object, reason, format string, args ...any) {
	e.Events.Normal(o, reason, format, e.redactors.of(object.RefOf(o)).Args(args)...)
}

// Warning records an event of type Warning on o.
func (e *parentEvents) Warning(o *object.Object, reason, format string, args ...any) {
	e.Events.Warning(o, reason, format, e.redactors.of(object.RefOf(o)).Args(args)...)
}

// HookEvent records an event on o that a hook returned.
func (e *parentEvents) HookEvent(o *object.Object, kind, reason, message string) {
	texts := e.redactors.of(object.RefOf(o)).Texts([]string{reason, message})
	e.Events.HookEvent(o, kind, texts[0], texts[1])
}
