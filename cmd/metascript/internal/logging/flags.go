// Package logging is the log of the program: the flags about it, the handler that they describe, and the formats that
// Metacontroller, whose logger is zap, writes.
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

// Flags are the flags about the log. Those that begin with zap are Metacontroller's, and mean what they mean there. So does
// --verbosity: the two set one level.
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
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "1 logs each reconcile with its reasons, and each write; a higher number logs more of client-go's messages as well")
	flags.Var(&f.level, "zap-log-level", "info, debug, error, panic, or a number for --verbosity")
	flags.Var(&f.encoder, "zap-encoder", "format of the log: "+f.encoder.Words())
	flags.Var(&f.times, "zap-time-encoding", "format of times in the log: "+f.times.Words())
	flags.Var(&f.stack, "zap-stacktrace-level", "messages of this level and above have a stack trace: "+f.stack.Words())
	flags.BoolVar(&f.devel, "zap-devel", false, "the same as --zap-log-level=debug --zap-stacktrace-level=warn, where these are not set")
}

// DefaultToErrors makes error the level, unless the command line asks for more.
func (f *Flags) DefaultToErrors() { f.level = level{slog.LevelError, "error"} }

// DefaultToMetacontroller makes the defaults those that Metacontroller has, for a server that takes its place: whatever reads
// the log goes on reading it. It is called after the command line was parsed, since --zap-devel has other defaults.
func (f *Flags) DefaultToMetacontroller() {
	if f.devel {
		f.encoder.SetDefault("console")
	} else {
		f.encoder.SetDefault("json")
		f.stack.SetDefault("error")
	}
	f.times.SetDefault("rfc3339")
}

// chosen is the level that all flags together result in: the most verbose of them, but --zap-log-level wins over
// --zap-devel.
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

// maxKlog is the highest verbosity that client-go is given. Above it client-go logs the bodies of requests, and those of
// Secrets too.
const maxKlog = 7

// Open returns a log that writes to w. It makes client-go log there too, so it is called once.
func (f *Flags) Open(w io.Writer) *slog.Logger {
	level := f.chosen()
	log := slog.New(f.handler(w, level))
	klog.SetSlogLogger(log)
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("v", strconv.Itoa(min(max(0, -int(level)), maxKlog))) // it fails for what is no number only
	return log
}

// handler returns what formats the log.
func (f *Flags) handler(w io.Writer, level slog.Level) slog.Handler {
	format := format{json: f.encoder.String() == "json", times: f.times.String()}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: format.replace}
	var handler slog.Handler = slog.NewTextHandler(w, options)
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
