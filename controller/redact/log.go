package redact

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Args are the arguments of a format, each without what is in Secrets; what is a number or a time stays as it is.
func (r *Redactor) Args(args []any) []any {
	if r.Empty() {
		return args
	}
	clean := make([]any, len(args))
	texts, at := []string(nil), []int(nil)
	for i, arg := range args {
		clean[i] = arg
		if text, is := textOf(arg); is {
			texts, at = append(texts, text), append(at, i)
		}
	}
	for i, text := range r.Texts(texts) {
		if text != texts[i] || !isText(clean[at[i]]) {
			clean[at[i]] = text
		}
	}
	return clean
}

// isText reports whether arg says nothing but its text, however it is written.
func isText(arg any) bool {
	switch arg.(type) {
	case string, error, fmt.Stringer:
		return true
	}
	return false
}

// textOf is what arg says to people, if that is more than a number.
func textOf(arg any) (string, bool) {
	switch a := arg.(type) {
	case nil, bool, int, int32, int64, uint64, float64, time.Duration, time.Time:
		return "", false
	case []byte:
		return string(a), true
	case error:
		return a.Error(), true
	case fmt.Stringer:
		return a.String(), true
	}
	return fmt.Sprintf("%+v", arg), true
}

// A handler passes on what is logged, without what is in Secrets.
type handler struct {
	slog.Handler
	of      func(slog.Record) *Redactor
	foreign bool // messages are of others, and not fixed
}

// Handler is next for those who log with a context of their own, and for the programs of others: all that they log loses
// what is in the Secrets that r knows.
func (r *Redactor) Handler(next slog.Handler) slog.Handler {
	return &handler{next, func(slog.Record) *Redactor { return r }, true}
}

// Handler is next for messages of our own, that are fixed, about things with Redactors of their own: of finds the one that a
// record is about, or nil.
func Handler(next slog.Handler, of func(slog.Record) *Redactor) slog.Handler {
	return &handler{next, of, false}
}

// mostForeign is the level below which client-go would log the bodies of requests, whatever they hold.
const mostForeign = slog.Level(-7)

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return (!h.foreign || level >= mostForeign) && h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	r := h.of(record)
	if h.foreign && r != nil && r.withholds && record.Level >= slog.LevelInfo {
		return h.withhold(ctx, record)
	}
	if r.Empty() {
		return h.Handler.Handle(ctx, record)
	}
	var attrs []slog.Attr
	record.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	message := record.Message
	if h.foreign {
		message = r.Text(message)
	}
	clean := slog.NewRecord(record.Time, record.Level, message, record.PC)
	clean.AddAttrs(r.attrs(attrs)...)
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if h.foreign {
		attrs = h.of(slog.Record{}).attrs(attrs)
	}
	return &handler{h.Handler.WithAttrs(attrs), h.of, h.foreign}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.of, h.foreign}
}

// attrs are those of a record without what is in Secrets, all in one search.
func (r *Redactor) attrs(attrs []slog.Attr) []slog.Attr {
	values := make([]any, len(attrs))
	for i, a := range attrs {
		values[i] = a.Value.Resolve().Any()
	}
	clean := make([]slog.Attr, len(attrs))
	for i, value := range r.Args(values) {
		clean[i] = slog.Any(attrs[i].Key, value)
	}
	return clean
}
