package redact

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Args returns the arguments of a format without the values of Secrets. Numbers and times are not changed.
func (r *Redactor) Args(args []any) []any {
	if r.Empty() {
		return args
	}
	clean := make([]any, len(args))
	texts, at := []string(nil), []int(nil)
	for i, arg := range args {
		clean[i] = arg
		if err, is := arg.(error); is {
			clean[i] = r.Error(err) // with the lines of a script that it quotes
		} else if text, is := textOf(arg); is {
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

// isText reports whether arg is formatted as its text, with every verb.
func isText(arg any) bool {
	switch arg.(type) {
	case string, fmt.Stringer:
		return true
	}
	return false
}

// textOf returns the text of arg, which is not an error; false if arg is a number, a boolean or a time.
func textOf(arg any) (string, bool) {
	switch a := arg.(type) {
	case nil, bool, int, int32, int64, uint64, float64, time.Duration, time.Time:
		return "", false
	case []byte:
		return string(a), true
	case fmt.Stringer:
		return a.String(), true
	}
	return fmt.Sprintf("%+v", arg), true
}

// A handler passes log records on, without the values of Secrets.
type handler struct {
	slog.Handler
	of      func(slog.Record) *Redactor
	foreign bool // the messages are of other libraries, and are redacted too
}

// Handler returns a handler for the log of other libraries: r redacts all messages and attributes.
func (r *Redactor) Handler(next slog.Handler) slog.Handler {
	return &handler{next, func(slog.Record) *Redactor { return r }, true}
}

// Handler returns a handler for our own log, whose messages are constant: of returns the Redactor for the attributes of a
// record, or nil.
func Handler(next slog.Handler, of func(slog.Record) *Redactor) slog.Handler {
	return &handler{next, of, false}
}

// mostForeign is the lowest level for which client-go logs no bodies of requests.
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

// attrs returns attributes without the values of Secrets. It searches all of them at once.
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
