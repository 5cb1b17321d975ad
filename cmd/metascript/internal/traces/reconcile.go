package traces

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/failures"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/engine"
)

var _ observe.Tracer = (*Traces)(nil)

// Start implements observe.Tracer.
func (t *Traces) Start(ctx context.Context) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, "reconcile", trace.WithNewRoot())
}

// Remembered implements observe.Sink. A reconcile that was not done has no span.
func (t *Traces) Remembered(observe.About, queue.Reason, remember.Source) {}

// Reconciled implements observe.Sink. It ends the spans of a reconcile. The texts of all of them are searched for the values of Secrets at
// once, when all Secrets are known that the reconcile has seen.
func (t *Traces) Reconciled(r *observe.Reconcile) {
	if r.Span == nil || !r.Span.IsRecording() {
		return
	}
	var all []*part
	for i := range r.Calls {
		if r.Calls[i].Span != nil {
			all = append(all, partOfCall(&r.Calls[i]))
		}
	}
	for i := range r.Writes {
		if r.Writes[i].Span != nil {
			all = append(all, partOfWrite(&r.Writes[i]))
		}
	}
	all = append(all, partOfReconcile(r))
	clean(all, r.Redactor)
	for _, p := range all {
		p.finish()
	}
}

// A part is what is added to a span before it ends.
type part struct {
	span       trace.Span
	name       string
	attributes []attribute.KeyValue
	failed     error
	status     string // the text of failed
	ends       time.Time
}

// text adds an attribute, if it is not empty.
func (p *part) text(key, text string) {
	if text != "" {
		p.attributes = append(p.attributes, attribute.String(key, text))
	}
}

// fail sets the error of a span; kind is its error.type. What is only repeated soon is not an error.
func (p *part) fail(err error, kind string) {
	if err == nil {
		return
	}
	if p.status = err.Error(); observe.Unsettled(err) {
		p.text("metascript.requeue.reason", p.status)
		return
	}
	p.failed = err
	p.text("error.type", kind)
}

// finish ends the span.
func (p *part) finish() {
	p.span.SetName(p.name)
	p.span.SetAttributes(p.attributes...)
	if p.failed != nil {
		p.span.SetStatus(codes.Error, p.status)
	}
	p.span.End(trace.WithTimestamp(p.ends))
}

func partOfReconcile(r *observe.Reconcile) *part {
	p := &part{span: r.Span, name: "reconcile " + r.Controller, ends: r.Began.Add(r.Took)}
	p.text("metascript.controller.kind", r.Kind)
	p.text("metascript.controller.name", r.Controller)
	p.object("parent", r.Parent)
	p.text("metascript.parent.uid", string(r.UID))
	p.attributes = append(p.attributes, attribute.StringSlice("metascript.reasons", strings.Split(r.Why.String(), ",")))
	if len(r.Causes) > 0 {
		p.attributes = append(p.attributes, attribute.StringSlice("metascript.causes", textsOf(r.Causes)))
	}
	result := failures.ResultOf(r.Err)
	p.text("metascript.result", result)
	p.text("metascript.answer", string(r.Source))
	p.text("metascript.script.digest", r.Script)
	p.attributes = append(p.attributes, attribute.Int("metascript.writes", len(r.Writes)))
	if r.Again > 0 {
		p.attributes = append(p.attributes, attribute.Float64("metascript.requeue.after_seconds", r.Again.Seconds()))
	}
	p.fail(r.Err, result)
	return p
}

// object adds the attributes of an object, which is a parent or an object that was written.
func (p *part) object(role string, of object.Ref) {
	version := of.Kind.Version
	if of.Kind.Group != "" {
		version = of.Kind.Group + "/" + version
	}
	p.text("metascript."+role+".api_version", version)
	p.text("metascript."+role+".kind", of.Kind.Kind)
	p.text("metascript."+role+".name", of.Name)
	p.text("k8s.namespace.name", of.Namespace)
}

// textsOf returns causes in words, such as "child changed ConfigMap default/a: data.x".
func textsOf(causes []observe.Cause) []string {
	texts := make([]string, len(causes))
	for i, c := range causes {
		texts[i] = c.Reason.String() + " " + string(c.Change) + " " + c.Object.Kind.Kind + " " + c.Object.Key.String()
		if len(c.Fields) > 0 {
			texts[i] += ": " + strings.Join(c.Fields, ", ")
		}
		if c.More {
			texts[i] += " and more"
		}
	}
	return texts
}

func partOfCall(c *observe.Call) *part {
	p := &part{span: c.Span, name: "hook " + c.Name, ends: c.Began.Add(c.Took)}
	p.text("metascript.hook", c.Name)
	p.text("metascript.revision", c.Revision)
	if c.Response != nil && c.Response.Children != nil {
		p.attributes = append(p.attributes, attribute.Int("metascript.children", c.Response.Children.Len()))
	}
	p.fail(c.Err, failures.ResultOf(c.Err))
	return p
}

func partOfWrite(w *observe.Write) *part {
	ref := object.RefOf(w.Object)
	p := &part{span: w.Span, name: string(w.Verb) + " " + ref.Kind.Kind, ends: w.Began.Add(w.Took)}
	p.text("metascript.verb", string(w.Verb))
	p.object("object", ref)
	p.text("metascript.why", w.Why)
	if w.Err != nil {
		kind := string(apierrors.ReasonForError(w.Err))
		if kind == "" {
			kind = failures.OtherError
		}
		p.fail(w.Redactor.Error(w.Err), kind)
	}
	return p
}

// longest is the maximum length in bytes of a text in a span.
const longest = 1 << 10

// clean removes the values of Secrets from the texts of parts, and then shortens them.
func clean(parts []*part, redactor *redact.Redactor) {
	var texts []string
	for _, p := range parts {
		p.each(func(text string) string { texts = append(texts, text); return text })
	}
	texts = redactor.Texts(texts)
	for _, p := range parts {
		p.each(func(string) string {
			text := texts[0]
			texts = texts[1:]
			return engine.Clip(text, longest)
		})
	}
}

// each replaces each text of a part.
func (p *part) each(replace func(string) string) {
	p.name, p.status = replace(p.name), replace(p.status)
	for i, a := range p.attributes {
		switch a.Value.Type() {
		case attribute.STRING:
			p.attributes[i].Value = attribute.StringValue(replace(a.Value.AsString()))
		case attribute.STRINGSLICE:
			several := a.Value.AsStringSlice()
			for i := range several {
				several[i] = replace(several[i])
			}
			p.attributes[i].Value = attribute.StringSliceValue(several)
		}
	}
}
