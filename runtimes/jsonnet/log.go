package jsonnet

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"metascript/engine"
)

// A logger passes on what std.trace prints. It receives only that: the interpreter writes each message at once, as "TRACE:
// file:line text
// ".
type logger struct {
	emit   func(engine.Message)
	limits engine.Limits
	guard  *guard // of the evaluation; this is how a builtin finds it
	bytes  int64  // of messages so far
}

// Write implements [io.Writer].
func (l *logger) Write(line []byte) (int, error) {
	if l.emit != nil {
		pos, text := parseTrace(line[:min(len(line), int(l.limits.Log)+maxMessage)])
		l.emit(engine.Message{Level: engine.Info, Pos: pos, Text: engine.Clip(text, int(l.limits.Log))})
	}
	return len(line), nil
}

var _ io.Writer = (*logger)(nil)

// parseTrace takes a message apart: the position ends at the first space behind a colon and digits.
func parseTrace(line []byte) (engine.Pos, string) {
	text := strings.TrimSuffix(string(bytes.TrimPrefix(line, []byte("TRACE: "))), "\n")
	for i := range len(text) {
		if text[i] != ' ' {
			continue
		}
		colon := strings.LastIndexByte(text[:i], ':')
		if n, err := strconv.Atoi(text[colon+1 : i]); err == nil && colon > 0 {
			return engine.Pos{File: text[:colon], Line: n}, text[i+1:]
		}
	}
	return engine.Pos{}, text
}
