package logging

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A level is the minimum level that is logged, as the value of a flag. Verbosity 1 is slog's debug; levels below debug are negated
// verbosities of klog.
type level struct {
	slog.Level
	text string // the value on the command line; "" if there is none
}

// panicLevel is above everything that is logged, and so turns the log off. zap has a level of this name.
const panicLevel = slog.LevelError + 4

// levelNames are the names of levels in flags.
var levelNames = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "panic": panicLevel,
}

// String implements pflag.Value.
func (l *level) String() string { return l.text }

// Type returns the type of the flag for help.
func (l *level) Type() string { return "level" }

// Completions implements flagvalue.Words.
func (l *level) Completions() []string { return slices.Sorted(maps.Keys(levelNames)) }

// Set implements pflag.Value.
func (l *level) Set(text string) error {
	value, named := levelNames[strings.ToLower(text)]
	if !named {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return errors.New("want debug, info, warn, error, panic, or a number above 0")
		}
		value = verbosityLevel(n)
	}
	l.Level, l.text = value, text
	return nil
}

// verbosityLevel returns the level of a verbosity: info for 0, debug for small numbers, and -n for numbers above those.
func verbosityLevel(n int) slog.Level {
	if n <= 0 {
		return slog.LevelInfo
	}
	return min(slog.LevelDebug, slog.Level(-n))
}
