package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// logFlags are the flags about the log. Those that begin with zap are Metacontroller's, and mean what they mean there.
type logFlags struct {
	verbosity             int
	devel                 bool
	level                 logLevel
	encoder, times, stack choice
}

func (f *logFlags) register(flags *pflag.FlagSet) {
	f.encoder, f.stack = oneOf("console", "json"), oneOf("never", "info", "warn", "error", "panic")
	f.times = oneOf("rfc3339nano", "rfc3339", "iso8601", "epoch", "millis", "nano")
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "1 logs each reconcile with its reasons, and each write; more also what client-go tells")
	flags.Var(&f.level, "zap-log-level", "info, debug, error, panic, or a number for --verbosity")
	flags.Var(&f.encoder, "zap-encoder", "form of the log: "+f.encoder.words())
	flags.Var(&f.times, "zap-time-encoding", "form of times in the log: "+f.times.words())
	flags.Var(&f.stack, "zap-stacktrace-level", "messages of this level and above have a stack trace: "+f.stack.words())
	flags.BoolVar(&f.devel, "zap-devel", false, "the same as --zap-log-level=debug --zap-stacktrace-level=warn, where these are not given")

}

// A logLevel is the least level that is logged. Below slog's debug, which is verbosity 1, a level is a verbosity of
// klog's, negated.
type logLevel struct {
	slog.Level
	said string
}

// panicLevel is above everything that is logged.
const panicLevel = slog.LevelError + 4

var levelNames = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "panic": panicLevel,
}

func (l *logLevel) String() string { return l.said }
func (l *logLevel) Type() string   { return "level" }

// Set implements pflag.Value.
func (l *logLevel) Set(text string) error {
	level, named := levelNames[strings.ToLower(text)]
	if n, err := strconv.Atoi(text); !named && (err != nil || n <= 0) {
		return fmt.Errorf("want info, debug, error, panic, or a number above 0")
	} else if !named {
		level = verbosityLevel(n)
	}
	l.Level, l.said = level, text
	return nil
}

func verbosityLevel(n int) slog.Level {
	if n <= 0 {
		return slog.LevelInfo
	}
	return min(slog.LevelDebug, slog.Level(-n))
}

// chosen is the level that the flags come to: what says most counts, but for an explicit zap-log-level.
func (f *logFlags) chosen() slog.Level {
	level := verbosityLevel(f.verbosity)
	switch {
	case f.level.said != "" && f.verbosity == 0:
		return f.level.Level
	case f.level.said != "":
		return min(level, f.level.Level)
	case f.devel:
		return min(level, slog.LevelDebug)
	}
	return level
}

// maxKlog is the verbosity above which client-go would log the bodies of requests, Secrets among them.
const maxKlog = 7

// likeMetacontroller makes the defaults those that Metacontroller has.
func (f *logFlags) likeMetacontroller() {
	if f.devel {
		f.encoder.or("console")
	} else {
		f.encoder.or("json")
		f.stack.or("error")
	}
	f.times.or("rfc3339")
}

// open gives a log that writes to w. What client-go logs goes there too.
func (f *logFlags) open(w io.Writer) *slog.Logger {
	level := f.chosen()
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: f.replace}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if f.encoder.value == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	if from, traced := levelNames[f.stack.value]; traced {
		handler = tracing{handler, from}
	} else if f.devel {
		handler = tracing{handler, slog.LevelWarn}
	}
	log := slog.New(handler)
	klog.SetSlogLogger(log)
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("v", strconv.Itoa(min(max(0, -int(level)), maxKlog))) // which is a number
	return log
}

// replace writes times as they are wanted and, in JSON, names and levels as Metacontroller does.
func (f *logFlags) replace(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	asJSON := f.encoder.value == "json"
	switch {
	case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
		a.Value = timeValue(f.times.value, a.Value.Time())
		if asJSON {
			a.Key = "ts"
		}
	case a.Key == slog.LevelKey && asJSON:
		a.Value = slog.StringValue(zapLevel(a.Value))
	case asJSON && a.Value.Kind() == slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// zapLevel spells a level as zap does: verbosity 1, which is our debug too, is debug, and what is below has a number.
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

// A tracing handler adds a stack trace to what is of a level and above.
type tracing struct {
	slog.Handler
	from slog.Level
}

// Handle implements slog.Handler.
func (h tracing) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= h.from {
		r.AddAttrs(slog.String("stacktrace", string(debug.Stack())))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h tracing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracing{h.Handler.WithAttrs(attrs), h.from}
}

// WithGroup implements slog.Handler.
func (h tracing) WithGroup(name string) slog.Handler {
	return tracing{h.Handler.WithGroup(name), h.from}
}
