// Package logging configures the log of the program: its flags, its handler, and the formats of Metacontroller, whose logger is zap.
package logging

import (
	"flag"
	"io"
	"log/slog"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"metascript/cmd/metascript/internal/flagvalue"
)

// Flags are the flags of the log. Those whose names begin with zap have the same meaning as in Metacontroller. --verbosity and
// --zap-log-level set the same level.
type Flags struct {
	verbosity             int
	devel                 bool
	level                 level
	encoder, times, stack flagvalue.Choice
}

// Register adds the flags to a set.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.encoder, f.stack = flagvalue.OneOf("console", "json"), flagvalue.OneOf("never", "info", "warn", "error", "panic")
	f.times = flagvalue.OneOf("rfc3339nano", "rfc3339", "iso8601", "epoch", "millis", "nano")
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "1 logs each reconcile with its reasons, and each write; higher values also log messages of client-go")
	flags.Var(&f.level, "zap-log-level", "debug, info, warn, error, panic, or a number, which is a verbosity")
	flags.Var(&f.encoder, "zap-encoder", "format of the log: "+f.encoder.Words())
	flags.Var(&f.times, "zap-time-encoding", "format of times in the log: "+f.times.Words())
	flags.Var(&f.stack, "zap-stacktrace-level", "messages of this level and above have a stack trace: "+f.stack.Words())
	flags.BoolVar(&f.devel, "zap-devel", false, "sets the defaults to --zap-log-level=debug, --zap-stacktrace-level=warn and --zap-encoder=console")
}

// DefaultToErrors sets the default level to error. It must be called before the command line is parsed.
func (f *Flags) DefaultToErrors() { f.level = level{slog.LevelError, "error"} }

// DefaultToMetacontroller sets the defaults of Metacontroller, for a server that replaces it: programs that read its log can read
// this one. It must be called after the command line was parsed, since --zap-devel has other defaults.
func (f *Flags) DefaultToMetacontroller() {
	if f.devel {
		f.encoder.SetDefault("console")
	} else {
		f.encoder.SetDefault("json")
		f.stack.SetDefault("error")
	}
	f.times.SetDefault("rfc3339")
}

// chosen returns the level that results from all flags: the most verbose of them, but --zap-log-level has precedence over --zap-devel.
func (f *Flags) chosen() slog.Level {
	verbosity := verbosityLevel(f.verbosity)
	switch {
	case f.level.text != "" && f.verbosity == 0:
		return f.level.Level
	case f.level.text != "":
		return min(verbosity, f.level.Level)
	case f.devel:
		return min(verbosity, slog.LevelDebug)
	}
	return verbosity
}

// maxKlog is the maximum verbosity of client-go. With a higher verbosity client-go logs the bodies of requests, which may have
// Secrets.
const maxKlog = 7

// Open returns a log that writes to w. It also sets the log of client-go, which is global, so it must be called only once.
func (f *Flags) Open(w io.Writer) *slog.Logger {
	level := f.chosen()
	log := slog.New(f.handler(w, level))
	klog.SetSlogLogger(log)
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("v", strconv.Itoa(min(max(0, -int(level)), maxKlog))) // it fails only if the value is not a number
	return log
}

// handler returns the handler with the format in the flags.
func (f *Flags) handler(w io.Writer, level slog.Level) slog.Handler {
	format := format{json: f.encoder.String() == "json", times: f.times.String()}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: format.replace}
	handler := newLines(w, func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, options) })
	if format.json {
		handler = slog.NewJSONHandler(w, options)
	}
	if from, traced := levelNames[f.stack.String()]; traced {
		return stackTraces{handler, from}
	}
	if f.devel {
		return stackTraces{handler, slog.LevelWarn}
	}
	return handler
}
