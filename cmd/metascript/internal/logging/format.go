package logging

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
)

// A format is the format of the attributes of a message.
type format struct {
	json  bool
	times string // one of the words of --zap-time-encoding
}

// replace is slog's ReplaceAttr. It writes times in the format of the flags and, in JSON, names and levels as
// Metacontroller does.
func (f format) replace(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch {
	case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
		a.Value = timeValue(f.times, a.Value.Time())
		if f.json {
			a.Key = "ts"
		}
	case a.Key == slog.LevelKey && f.json:
		a.Value = slog.StringValue(zapLevel(a.Value))
	case f.json && a.Value.Kind() == slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// zapLevel returns the name of a level in zap: debug for verbosity 1 and for slog's debug, and a number for higher verbosities.
func zapLevel(v slog.Value) string {
	level, isLevel := v.Any().(slog.Level)
	switch {
	case !isLevel:
		return strings.ToLower(v.String())
	case level > slog.LevelError:
		return "panic"
	case level == slog.LevelDebug, level == -1:
		return "debug"
	case level < slog.LevelInfo:
		return fmt.Sprintf("Level(%d)", level)
	}
	return strings.ToLower(level.String())
}

// timeValue returns a time in the format encoding, a word of --zap-time-encoding. By default slog uses rfc3339nano.
func timeValue(encoding string, t time.Time) slog.Value {
	switch encoding {
	case "rfc3339":
		return slog.StringValue(t.Format(time.RFC3339))
	case "iso8601":
		return slog.StringValue(t.Format("2006-01-02T15:04:05.000Z0700"))
	case "epoch":
		return slog.Float64Value(float64(t.UnixNano()) / 1e9)
	case "millis":
		return slog.Float64Value(float64(t.UnixNano()) / 1e6)
	case "nano":
		return slog.Int64Value(t.UnixNano())
	}
	return slog.TimeValue(t)
}

// stackTraces is a handler that adds a stack trace to messages of a level and above. The trace has the
// frames of slog too.
type stackTraces struct {
	slog.Handler
	from slog.Level
}

// Handle implements slog.Handler.
func (h stackTraces) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= h.from {
		r.AddAttrs(slog.String("stacktrace", string(debug.Stack())))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h stackTraces) WithAttrs(attrs []slog.Attr) slog.Handler {
	return stackTraces{h.Handler.WithAttrs(attrs), h.from}
}

// WithGroup implements slog.Handler.
func (h stackTraces) WithGroup(name string) slog.Handler {
	return stackTraces{h.Handler.WithGroup(name), h.from}
}
