package starlark

import (
	"fmt"
	"math"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// charge takes n steps at once, on behalf of an instruction that does much. Its error ends the evaluation.
func (ev *evaluation) charge(n int64) error {
	before := ev.thread.Steps
	ev.thread.Steps += uint64(max(n, 0))
	if ev.thread.Steps > ev.maxSteps() {
		ev.tooLong = true
		return errStopped
	}
	if ev.thread.Steps/checkEvery != before/checkEvery && ev.ctx.Err() != nil {
		return errStopped
	}
	return nil
}

// spend takes a step.
func (ev *evaluation) spend() error { return ev.charge(1) }

// bytesPerStep is how much is copied or searched for a step.
const bytesPerStep = 64

// room refuses to make a value of n bytes that is too large, waits for memory, and counts it.
func (ev *evaluation) room(n int64, what string) error {
	if n <= small {
		return nil
	}
	if n > ev.limits.Memory {
		return ev.tooLarge(what)
	}
	if engine.WaitForMemory(ev.ctx, n) != nil {
		return errStopped
	}
	return ev.charge(n / bytesPerStep)
}

func (ev *evaluation) tooLarge(what string) error {
	e := engine.TooMuchMemory(engine.Pos{}, ev.limits, what)
	return &fault{kind: e.Kind, msg: e.Msg, hint: e.Hint}
}

// times is x * y, or the largest number.
func times(x, y int64) int64 {
	if x > 0 && y > math.MaxInt64/x {
		return math.MaxInt64
	}
	return x * y
}

// plus is x + y for what is not negative, or the largest number.
func plus(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// sizeOf is how many bytes the elements of a value take, or its text; 0 for what has neither.
func sizeOf(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String:
		return int64(len(v))
	case starlark.Bytes:
		return int64(len(v))
	case starlark.Int:
		return 0
	}
	return elementSize * int64(max(starlark.Len(v), 0))
}

// concrete returns what an iterable yields as a value that takes memory itself: a range, or the parts of a text, becomes a
// list, within limits. What is not iterable stays as it is.
func (ev *evaluation) concrete(v starlark.Value, what string) (starlark.Value, error) {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, dict, slice, starlark.String, starlark.Bytes:
		return v, nil
	}
	iterable, ok := v.(starlark.Iterable)
	if !ok {
		return v, nil
	}
	elems, err := ev.collect(iterable, elementSize, what)
	return starlark.NewList(elems), err
}

// collect returns what an iterable yields, each of which is to take size bytes.
func (ev *evaluation) collect(iterable starlark.Iterable, size int64, what string) ([]starlark.Value, error) {
	n := int64(starlark.Len(iterable))
	if times(n, size) > ev.limits.Memory {
		return nil, ev.tooLarge(what)
	}
	elems := make([]starlark.Value, 0, max(n, 0))
	held := int64(0)
	for v := range starlark.Elements(iterable) {
		if err := ev.spend(); err != nil {
			return nil, err
		}
		if held += size + boxed(v); held > ev.limits.Memory {
			return nil, ev.tooLarge(what)
		}
		elems = append(elems, v)
	}
	return elems, nil
}

// boxed is what an element takes besides its place: integers of more than 32 bits are kept apart.
func boxed(v starlark.Value) int64 {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0
	}
	if n, ok := i.Int64(); ok && n == int64(int32(n)) {
		return 0
	}
	return 80
}

// textSize is how many bytes str(v) takes at most. It refuses what is nested too deeply, or too large.
func (ev *evaluation) textSize(v starlark.Value, what string) (int64, error) {
	s := sizing{ev: ev, what: what}
	err := s.add(v, 0)
	return s.total, err
}

// checkEncodable refuses what is nested too deeply, or too large as JSON, which has the elements of whatever has any.
func (ev *evaluation) checkEncodable(v starlark.Value) error {
	s := sizing{ev: ev, what: "the JSON text", elements: true}
	return s.add(v, 0)
}

// A sizing adds up what values take as text.
type sizing struct {
	ev       *evaluation
	what     string
	elements bool // of ranges and the like, too
	verbs    bool // of %f and %o, which write a float with all its digits
	total    int64
}

// longestFloat is how many bytes %o takes at most for a float, and %f nearly.
const longestFloat = 350

func (s *sizing) add(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.String:
		return s.take(2 + s.escaped(string(v))*int64(len(v)))
	case starlark.Bytes:
		return s.take(3 + s.escaped(string(v))*int64(len(v)))
	case starlark.Int:
		if bits(v) > maxBits {
			return errLongInt
		}
		return s.integer(v)
	case starlark.Float:
		if s.verbs {
			return s.take(longestFloat)
		}
		return s.other(v, depth)
	case *starlark.Dict:
		for k, w := range v.Entries() {
			if err := s.pair(k, w, depth); err != nil {
				return err
			}
		}
	case dict:
		for k, w := range v {
			if err := s.pair(starlark.String(k), toValue(w), depth); err != nil {
				return err
			}
		}
	case *starlark.List, starlark.Tuple, *starlark.Set, slice:
		if err := s.all(v.(starlark.Iterable), depth); err != nil {
			return err
		}
	default:
		return s.other(v, depth)
	}
	return s.take(8)
}

// escaped is what a byte of s takes, with the copies that are made on the way: in a text it may become four, as \x01, and
// in JSON six, which another package makes.
func (s *sizing) escaped(text string) int64 {
	switch {
	case printable(text):
		return 4
	case s.elements:
		return 12
	}
	return 6
}

// printable reports whether s has nothing but what ASCII shows, as json.encode sees it.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (s *sizing) all(values starlark.Iterable, depth int) error {
	for v := range starlark.Elements(values) {
		if err := s.inner(v, depth); err != nil {
			return err
		}
	}
	return nil
}

// other adds what holds no values: a function, a range, a number, or the parts of a text.
func (s *sizing) other(v starlark.Value, depth int) error {
	iterable, ok := v.(starlark.Iterable)
	if ok && (s.elements || v.Type() != "range") { // as a text, the parts of one show it whole
		return s.all(iterable, depth)
	}
	return s.take(100)
}

// integer adds a number. To write one takes the square of its length: the longest, some tenths of a millisecond.
func (s *sizing) integer(i starlark.Int) error {
	if err := s.ev.charge(wordSteps(bits(i) / 64)); err != nil {
		return err
	}
	return s.take(int64(bits(i))/3 + 2)
}

// wordSteps is how many steps it takes to read or write a number of so many words.
func wordSteps(words int) int64 { return int64(words) * int64(words) / 16 }

func (s *sizing) pair(k, v starlark.Value, depth int) error {
	if err := s.inner(k, depth); err != nil {
		return err
	}
	return s.inner(v, depth)
}

func (s *sizing) inner(v starlark.Value, depth int) error {
	if depth >= maxNested {
		return errDeep
	}
	return s.add(v, depth+1)
}

func (s *sizing) take(n int64) error {
	s.total += n
	if s.total > s.ev.limits.Memory {
		return s.ev.tooLarge(s.what)
	}
	return s.ev.charge(1 + n/bytesPerStep)
}

var errDeep = &fault{
	kind: engine.KindRuntime, msg: fmt.Sprintf("the value is nested deeper than %d levels, or contains itself", maxNested),
}

var errLongInt = &fault{
	kind: engine.KindMemory, msg: fmt.Sprintf("an int has more than %d digits", maxDigits),
	hint: "numbers of that size are refused, since working with them takes very long",
}

// bits is how long an integer is.
func bits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 64
	}
	return i.BigInt().BitLen()
}
