package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// A Walk limits the conversion of a script's answer, or of another value of a script, to a JSON-shaped value: it counts values
// and bytes, limits the nesting (also of a value that contains itself), and knows the path of the current value for messages.
//
// A runtime calls Enter before each element of a list or map and Leave after it, and Count for every value.
type Walk struct {
	limits Limits
	of     string // the name of the value in messages; "": the answer
	nodes  int    // values so far
	bytes  int64  // bytes of JSON so far, approximately
	keys   int    // bytes of the keys above the current value
	work   int64  // so far; see maxWork
	path   []step // of the current value
}

// A step is an index or, if that is negative, a key.
type step struct {
	key   string
	index int
}

// NewWalk starts a walk within l.
func NewWalk(l Limits) *Walk { return &Walk{limits: l.WithDefaults()} }

// maxWork limits the work that an answer makes after the call: it is decoded, searched, compared with what exists, planned and recorded. It is
// counted in units and not measured, so that the same answer always has the same result: one for each value, and one for each bytesOfUnit
// bytes of its text and of the keys above it, since a value is named by its path. An answer within the other limits has a few hundred
// thousand, unless many values are below long keys. What is done with an answer takes time in proportion to its units.
const (
	maxWork     = 4_000_000
	bytesOfUnit = 64
)

// nodeSize is the memory of a value without its text, in bytes.
const nodeSize = 64

// NewArgument starts a walk over a value that a script passes to a function of the library; of is its name in messages. The
// walk is limited by l.Memory and by depth.
func NewArgument(of string, depth int, l Limits) *Walk {
	l = l.WithDefaults()
	l.Output, l.Nodes, l.Depth = l.Memory, int(l.Memory/nodeSize), depth
	return &Walk{limits: l, of: of}
}

// EnterKey moves down to the value of a map's key.
func (w *Walk) EnterKey(key string) *Error {
	w.path = append(w.path, step{key: key, index: -1})
	w.bytes += int64(len(key)) + 4
	w.keys += len(key)
	return w.checkDepth()
}

// EnterIndex moves down to an element of a list.
func (w *Walk) EnterIndex(i int) *Error {
	w.path = append(w.path, step{index: i})
	w.bytes++
	return w.checkDepth()
}

// Leave moves up again, to the list or map that contains the current value.
func (w *Walk) Leave() {
	last := len(w.path) - 1
	w.keys -= len(w.path[last].key)
	w.path = w.path[:last]
}

// Count counts one value of about n bytes of JSON, without its elements.
func (w *Walk) Count(n int) *Error {
	w.nodes++
	w.bytes += int64(n)
	w.work += int64(1 + (n+w.keys)/bytesOfUnit)
	if w.of != "" {
		return w.countMemory()
	}
	if w.nodes > w.limits.Nodes {
		return tooManyValues(w.limits.Nodes)
	}
	if w.bytes > w.limits.Output {
		return &Error{
			Kind: KindOutput, Msg: fmt.Sprintf("the answer is larger than %d bytes", w.limits.Output),
			Hint: "return less, or raise limits.output",
		}
	}
	if w.work > maxWork {
		return &Error{
			Kind: KindOutput, Msg: fmt.Sprintf("the answer needs more than %d units of work to compare it: too many values are below long keys", maxWork),
			Hint: "shorten the keys, or split the controller: this limit cannot be changed",
		}
	}
	return nil
}

// countMemory returns an error if the values so far need more than limits.Memory.
func (w *Walk) countMemory() *Error {
	if w.bytes+int64(w.nodes)*nodeSize <= w.limits.Memory {
		return nil
	}
	return TooMuchMemory(Pos{}, w.limits, w.of)
}

// checkDepth returns an error if the current value is nested deeper than limits.Depth.
func (w *Walk) checkDepth() *Error {
	if len(w.path) <= w.limits.Depth {
		return nil
	}
	if w.of != "" {
		return &Error{
			Kind: KindRuntime, Msg: fmt.Sprintf("%s is nested deeper than %d levels at %s", w.of, w.limits.Depth, w.Path()),
			Hint: "does a value contain itself?",
		}
	}
	return &Error{
		Kind: KindOutput, Msg: fmt.Sprintf("the answer is nested deeper than %d levels at %s", w.limits.Depth, w.Path()),
		Hint: "does a value contain itself?",
	}
}

// Errorf returns an error about the current value, of KindResult in the answer; its message begins with the value's path.
func (w *Walk) Errorf(format string, args ...any) *Error {
	if w.of != "" {
		return &Error{Kind: KindRuntime, Msg: w.of + w.at() + " " + Clip(fmt.Sprintf(format, args...), maxMsg)}
	}
	e := &Error{Kind: KindResult, Msg: "the answer" + w.at() + " " + Clip(fmt.Sprintf(format, args...), maxMsg), At: Path{}}
	for _, s := range w.path {
		if s.index >= 0 {
			e.At = append(e.At, s.index)
			continue
		}
		e.At = append(e.At, s.key)
	}
	return e
}

// at returns " at " and the path of the current value, or "" for the whole answer.
func (w *Walk) at() string {
	if len(w.path) == 0 {
		return ""
	}
	return " at " + w.Path()
}

// Path returns the path of the current value, such as children[0].spec["a b"]; "" is the whole answer. The middle of a very
// long path is left out.
func (w *Walk) Path() string {
	const ends = 6
	path := w.path
	rest := ""
	if len(path) > 2*ends {
		path, rest = path[:ends], "…"+format(path[len(path)-ends:])
	}
	return strings.TrimPrefix(format(path), ".") + rest
}

// format returns the text of a path, with a dot before a first key.
func format(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case plainKey(s.key):
			b.WriteString("." + s.key)
		default:
			b.WriteString("[" + strconv.Quote(Clip(s.key, 80)) + "]")
		}
	}
	return b.String()
}

// plainKey reports whether key can be written after a dot.
func plainKey(key string) bool {
	for i, r := range key {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return key != "" && len(key) <= 80
}
