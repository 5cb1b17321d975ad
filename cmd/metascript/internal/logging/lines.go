package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// texts are the attributes that may have several lines: an error with the source line and a caret below it.
var texts = map[string]bool{"error": true, "message": true}

// linesPrefix begins each line of a text after the first one, so that no text looks like another message.
const linesPrefix = "    | "

// A lines handler writes messages like next, but the lines of texts after the first one on lines of their own, below the message.
type lines struct {
	next slog.Handler // writes to sink.line
	sink *sink
}

// A sink collects the lines of one message and writes them at once.
type sink struct {
	mu   sync.Mutex // guards line, and the order of messages
	line bytes.Buffer
	to   io.Writer
}

// newLines returns a handler. makeNext makes the handler of single lines, which writes to its argument.
func newLines(w io.Writer, makeNext func(io.Writer) slog.Handler) slog.Handler {
	s := &sink{to: w}
	return lines{makeNext(&s.line), s}
}

// Enabled implements slog.Handler.
func (h lines) Enabled(ctx context.Context, level slog.Level) bool { return h.next.Enabled(ctx, level) }

// Handle implements slog.Handler.
func (h lines) Handle(ctx context.Context, r slog.Record) error {
	short := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	var below []string
	r.Attrs(func(a slog.Attr) bool {
		if texts[a.Key] {
			if first, rest, found := strings.Cut(a.Value.String(), "\n"); found {
				a.Value = slog.StringValue(first)
				below = append(below, strings.Split(rest, "\n")...)
			}
		}
		short.AddAttrs(a)
		return true
	})
	h.sink.mu.Lock()
	defer h.sink.mu.Unlock()
	h.sink.line.Reset()
	if err := h.next.Handle(ctx, short); err != nil {
		return err
	}
	for _, line := range below {
		h.sink.line.WriteString(linesPrefix + line + "\n")
	}
	_, err := h.sink.to.Write(h.sink.line.Bytes())
	return err
}

// WithAttrs implements slog.Handler.
func (h lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lines{h.next.WithAttrs(attrs), h.sink}
}

// WithGroup implements slog.Handler.
func (h lines) WithGroup(name string) slog.Handler { return lines{h.next.WithGroup(name), h.sink} }
