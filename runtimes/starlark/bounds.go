package starlark

import (
	"fmt"
	"math"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// charge counts n steps, for an instruction that does much. If it returns an error, the evaluation must end.
func (ev *evaluation) charge(n int64) error {
	before := ev.thread.Steps
	ev.thread.Steps += uint64(max(n, 0))
	if ev.thread.Steps > ev.maxSteps() {
		ev.outOfSteps = true
		return errStopped
	}
	if ev.thread.Steps/checkEvery != before/checkEvery && ev.ctx.Err() != nil {
		return errStopped
	}
	return nil
}

// spend counts one step.
func (ev *evaluation) spend() error { return ev.charge(1) }

// bytesPerStep is how many bytes are copied or searched for one step.
const bytesPerStep = 64

// reserve is called before a value of n bytes is made. It returns an error if n exceeds limits.memory, waits until the process
// has memory, and charges steps for the bytes. what names the value in the error.
func (ev *evaluation) reserve(n int64, what string) error {
	if n <= smallSize {
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

// tooLarge returns the error for a value that exceeds limits.memory.
func (ev *evaluation) tooLarge(what string) error {
	e := engine.TooMuchMemory(engine.Pos{}, ev.limits, what)
	return &fault{kind: e.Kind, msg: e.Msg, hint: e.Hint}
}

// times returns x * y, or the largest int64 if the product overflows.
func times(x, y int64) int64 {
	if x > 0 && y > math.MaxInt64/x {
		return math.MaxInt64
	}
	return x * y
}

// plus returns x + y, or the largest int64 if the sum overflows. x and y must not be negative.
func plus(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// sizeOf returns the size in bytes of a string, or of the elements of a collection. It returns 0 for other values.
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

// materialize converts an iterable that computes its elements, such as a range or the elems of a string, to a list, within
// limits. It returns other values as they are.
func (ev *evaluation) materialize(v starlark.Value, what string) (starlark.Value, error) {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, dictView, listView, starlark.String, starlark.Bytes:
		return v, nil
	}
	iterable, ok := v.(starlark.Iterable)
	if !ok {
		return v, nil
	}
	elems, err := ev.collect(iterable, elementSize, what)
	return starlark.NewList(elems), err
}

// collect returns the elements of an iterable, and counts size bytes for each.
func (ev *evaluation) collect(iterable starlark.Iterable, size int64, what string) ([]starlark.Value, error) {
	n := int64(starlark.Len(iterable))
	if times(n, size) > ev.limits.Memory {
		return nil, ev.tooLarge(what)
	}
	elems := make([]starlark.Value, 0, max(n, 0))
	total := int64(0)
	for v := range starlark.Elements(iterable) {
		if err := ev.spend(); err != nil {
			return nil, err
		}
		if total += size + boxedSize(v); total > ev.limits.Memory {
			return nil, ev.tooLarge(what)
		}
		elems = append(elems, v)
	}
	return elems, nil
}

// boxedSize returns how many bytes an element takes besides its place in the collection: integers of more than 32 bits are
// allocated separately.
func boxedSize(v starlark.Value) int64 {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0
	}
	if n, ok := i.Int64(); ok && n == int64(int32(n)) {
		return 0
	}
	return 80
}

// textSize returns the maximum size of str(v) in bytes. It returns an error if v is nested too deeply or too large.
func (ev *evaluation) textSize(v starlark.Value, what string) (int64, error) {
	s := sizing{ev: ev, what: what}
	err := s.add(v, 0)
	return s.total, err
}

// checkEncodable returns an error if v is nested too deeply, or too large as JSON. JSON has the elements of every iterable.
func (ev *evaluation) checkEncodable(v starlark.Value) error {
	s := sizing{ev: ev, what: "the JSON text", elements: true}
	return s.add(v, 0)
}

// A sizing adds up the size of values as text.
type sizing struct {
	ev       *evaluation
	what     string
	elements bool  // the text has the elements of ranges and other iterables too
	verbs    bool  // the text is made by %f or %o, which write all digits of a float
	total    int64 // bytes so far
}

// longestFloat is the maximum size of a float written by %o or %f, in bytes.
const longestFloat = 350

func (s *sizing) add(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.String:
		return s.addBytes(2 + s.escaped(string(v))*int64(len(v)))
	case starlark.Bytes:
		return s.addBytes(3 + s.escaped(string(v))*int64(len(v)))
	case starlark.Int:
		if bits(v) > maxBits {
			return errLongInt
		}
		return s.integer(v)
	case starlark.Float:
		if s.verbs {
			return s.addBytes(longestFloat)
		}
		return s.other(v, depth)
	case *starlark.Dict:
		for k, w := range v.Entries() {
			if err := s.pair(k, w, depth); err != nil {
				return err
			}
		}
	case plainDict: // in no order, which costs less
		for k, w := range v.m {
			if err := s.pair(starlark.String(k), toValue(w), depth); err != nil {
				return err
			}
		}
	case dictView:
		for e := entriesOf(v.data()); e.next(); {
			if err := s.pair(starlark.String(e.key), toValue(e.value), depth); err != nil {
				return err
			}
		}
	case *starlark.List, starlark.Tuple, *starlark.Set, listView:
		if err := s.all(v.(starlark.Iterable), depth); err != nil {
			return err
		}
	default:
		return s.other(v, depth)
	}
	return s.addBytes(8)
}

// escaped returns the memory of a byte of text after escaping, with temporary copies: a byte may become four in a string, such
// as \x01, and six in JSON, which is made by another package.
func (s *sizing) escaped(text string) int64 {
	switch {
	case printable(text):
		return 4
	case s.elements:
		return 12
	}
	return 6
}

// printable reports whether s has only printable ASCII characters, as json.encode defines them.
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

// other adds a value of another type, such as a function, a range, a number, or the elems of a string.
func (s *sizing) other(v starlark.Value, depth int) error {
	iterable, ok := v.(starlark.Iterable)
	if ok && (s.elements || v.Type() != "range") { // str("ab".elems()) shows the whole string
		return s.all(iterable, depth)
	}
	return s.addBytes(100)
}

// integer adds an integer. The time to format it grows with the square of its length: some tenths of a millisecond for the
// longest.
func (s *sizing) integer(i starlark.Int) error {
	if err := s.ev.charge(wordSteps(bits(i) / 64)); err != nil {
		return err
	}
	return s.addBytes(int64(bits(i))/3 + 2)
}

// wordSteps returns how many steps it costs to parse or format an integer of that many 64-bit words.
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

func (s *sizing) addBytes(n int64) error {
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

// bits returns the length of an integer in bits, at least 64.
func bits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 64
	}
	return i.BigInt().BitLen()
}
