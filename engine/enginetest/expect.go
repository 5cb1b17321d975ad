package enginetest

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"metascript/engine"
)

// An expectation is the expected result of calling a script: an answer or a fault, and the messages.
type expectation struct {
	answer    string   // JSON
	fault     *fault   // nil: no error is expected
	frames    []frame  // of the fault's trace
	messages  []string // see matchMessages
	functions []string // nil: they are not checked
}

// A fault is an expected error.
type fault struct {
	kinds   []engine.Kind  // one of these
	message *regexp.Regexp // matches "message (hint)"
	pos     engine.Pos     // zero: it is not checked
}

// A frame is an expected frame of an error's trace; name is "" if the language does not report it.
type frame struct {
	depth int
	name  string
	file  string
	line  int
}

// expect sets s.want for a script in language d. A mark in the source has precedence over a setting, and a setting for one language
// over one for all languages. Two with the same precedence are an error.
func (a *archive) expect(s *script, d dialect) error {
	if err := s.want.readMarks(s.Files.(fstest.MapFS), d); err != nil {
		return err
	}
	if text, ok := a.setting(d, "functions"); ok {
		s.want.functions = append([]string{}, strings.Fields(text)...)
	}
	if text, ok := a.setting(d, "log.txt"); ok {
		s.want.messages = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	answer, failure := a.find(d, "want.json"), a.find(d, "error")
	ownAnswer, ownFailure := answer == d.variant("want.json"), failure == d.variant("error")
	switch {
	case s.want.fault != nil && (ownAnswer || ownFailure):
		return fmt.Errorf("an ERROR mark and %s%s contradict each other", answer, failure)
	case s.want.fault != nil:
		return nil
	case answer != "" && failure != "" && ownAnswer == ownFailure:
		return fmt.Errorf("%s and %s contradict each other", answer, failure)
	case ownFailure || answer == "" && failure != "":
		text, _ := a.setting(d, "error")
		return s.want.readFault(text)
	case answer != "":
		s.want.answer, _ = a.setting(d, "want.json")
		if _, err := decodeObject(s.want.answer); err != nil {
			return fmt.Errorf("%s: %w", answer, err)
		}
		return nil
	}
	return fmt.Errorf("there is no want.json, no error and no ERROR mark")
}

// readFault reads the file error: kinds, a space, a regular expression.
func (e *expectation) readFault(text string) error {
	kinds, message, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok {
		return fmt.Errorf("error: want kinds and a regular expression")
	}
	return e.setFault(kinds, message, engine.Pos{})
}

// setFault sets the expected error.
func (e *expectation) setFault(kinds, message string, pos engine.Pos) error {
	if e.fault != nil {
		return fmt.Errorf("%s: there is an expected error already", pos)
	}
	e.fault = &fault{pos: pos}
	for kind := range strings.SplitSeq(kinds, "|") {
		if !slices.Contains(allKinds, engine.Kind(kind)) {
			return fmt.Errorf("%s: no such kind: %q", pos, kind)
		}
		e.fault.kinds = append(e.fault.kinds, engine.Kind(kind))
	}
	var err error
	e.fault.message, err = regexp.Compile("(?s)" + message)
	return err
}

// allKinds are the kinds that a case may expect. A panic is never expected.
var allKinds = []engine.Kind{
	engine.KindSyntax, engine.KindModule, engine.KindMissing, engine.KindParams, engine.KindRuntime,
	engine.KindRaised, engine.KindResult, engine.KindTimeout, engine.KindSteps, engine.KindMemory,
	engine.KindOutput, engine.KindStack, engine.KindSource, engine.KindKey, engine.KindCanceled,
}

// mark matches a comment with ERROR or FRAME.
var mark = regexp.MustCompile(`(#|//) (ERROR|FRAME) (.*)$`)

// readMarks reads the marks in the source files of language d.
func (e *expectation) readMarks(files fstest.MapFS, d dialect) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			m := mark.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
			if m == nil || !slices.Contains(d.comment, m[1]) {
				continue
			}
			if err := e.readMark(m[2], m[3], engine.Pos{File: name, Line: number}); err != nil {
				return fmt.Errorf("%s:%d: %w", name, number, err)
			}
		}
	}
	slices.SortFunc(e.frames, func(a, b frame) int { return a.depth - b.depth })
	return nil
}

// readMark reads text, which follows word in a mark; word is ERROR or FRAME.
func (e *expectation) readMark(word, text string, pos engine.Pos) error {
	if word == "FRAME" {
		depth, name, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(depth)
		e.frames = append(e.frames, frame{depth: n, name: strings.TrimSpace(name), file: pos.File, line: pos.Line})
		return err
	}
	kinds, rest, ok := strings.Cut(text, ": ")
	quoted, err := strconv.QuotedPrefix(rest)
	if !ok || err != nil {
		return fmt.Errorf("want Kind: \"regular expression\"")
	}
	message, err := strconv.Unquote(quoted)
	if err != nil {
		return err
	}
	if rest = strings.TrimSpace(rest[len(quoted):]); rest != "" {
		if _, err := fmt.Sscanf(rest, "col=%d", &pos.Col); err != nil {
			return fmt.Errorf("want col=N, not %q", rest)
		}
	}
	return e.setFault(kinds, message, pos)
}

// parseLimits reads lines of the form "name: value".
func parseLimits(text string, l *engine.Limits) error {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch name {
		case "timeout":
			l.Timeout, err = time.ParseDuration(value)
		case "steps":
			l.Steps, err = strconv.ParseInt(value, 10, 64)
		case "memory":
			l.Memory, err = strconv.ParseInt(value, 10, 64)
		case "output":
			l.Output, err = strconv.ParseInt(value, 10, 64)
		case "nodes":
			l.Nodes, err = strconv.Atoi(value)
		case "depth":
			l.Depth, err = strconv.Atoi(value)
		case "stack":
			l.Stack, err = strconv.Atoi(value)
		case "source":
			l.Source, err = strconv.ParseInt(value, 10, 64)
		case "log":
			l.Log, err = strconv.ParseInt(value, 10, 64)
		default:
			err = fmt.Errorf("no such limit: %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
