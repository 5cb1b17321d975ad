package logging

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
)

// A level is the least level that is logged, as the value of a flag. Levels below slog's debug, which is verbosity 1,
// are klog's verbosities, negated.
type level struct {
	slog.Level
	text string // as the command line has it; "" when it has none
}

// panicLevel is above everything that is logged, and so turns the log off. zap has a level of this name.
const panicLevel = slog.LevelError + 4

// levelNames are the names that flags take for levels.
var levelNames = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "panic": panicLevel,
}

// String implements pflag.Value.
func (l *level) String() string { return l.text }

// Type is what help shows as the type of the flag.
func (l *level) Type() string { return "level" }

// Set implements pflag.Value.
func (l *level) Set(text string) error {
	value, named := levelNames[strings.ToLower(text)]
	if !named {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return errors.New("want info, debug, error, panic, or a number above 0")
		}
		value = verbosityLevel(n)
	}
	l.Level, l.text = value, text
	return nil
}

// verbosityLevel is the level of a verbosity: info for 0, debug from 1 on, and below debug where the number says so.
func verbosityLevel(n int) slog.Level {
	if n <= 0 {
		return slog.LevelInfo
	}
	return min(slog.LevelDebug, slog.Level(-n))
}
