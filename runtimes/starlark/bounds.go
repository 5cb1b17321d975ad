package starlark

import (
	"fmt"
	"math"

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
	if ev.thread.Steps/checkEvery != before/checkEvery && ev.ctxErr() != nil {
		return errStopped
	}
	return nil
}

// spend takes a step.
func (ev *evaluation) spend() error { return ev.charge(1) }

// bytesPerStep is how much is copied or searched for a step.
const bytesPerStep = 64

// room refuses to make a value of n bytes that is too large, and counts it.
func (ev *evaluation) room(n int64, what string) error {
	if n <= small {
		return nil
	}
	if n > ev.limits.Memory {
		return ev.tooLarge(what)
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

// concrete gives what an iterable yields as a value that takes memory itself: a range, or the parts of a text, becomes a
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

// collect gives what an iterable yields, each of which is to take size bytes.
func (ev *evaluation) collect(iterable starlark.Iterable, size int64, what string) ([]starlark.Value, error) {
	n := int64(starlark.Len(iterable))
	if times(n, size) > ev.limits.Memory {
		return nil, ev.tooLarge(what)
	}
	elems := make([]starlark.Value, 0, max(n, 0))
	for v := range starlark.Elements(iterable) {
		if err := ev.spend(); err != nil {
			return nil, err
		}
		if int64(len(elems)+1)*size > ev.limits.Memory {
			return nil, ev.tooLarge(what)
		}
		elems = append(elems, v)
	}
	return elems, nil
}

// textSize is how many bytes str(v) takes at most. It refuses what is nested too deeply, or too large.
func (ev *evaluation) textSize(v starlark.Value, what string) (int64, error) {
	s := sizing{ev: ev, what: what}
	err := s.add(v, 0)
	return s.total, err
}

// A sizing adds up what values take as text.
type sizing struct {
	ev    *evaluation
	what  string
	total int64
}

func (s *sizing) add(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.String:
		return s.take(2 + 4*int64(len(v))) // "\x00"
	case starlark.Bytes:
		return s.take(3 + 4*int64(len(v)))
	case starlark.Int:
		if bits(v) > maxBits {
			return errLongInt
		}
		return s.take(int64(bits(v))/3 + 2)
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
		for w := range starlark.Elements(v.(starlark.Iterable)) {
			if err := s.inner(w, depth); err != nil {
				return err
			}
		}
	default:
		return s.take(100) // a function, a range, a number
	}
	return s.take(8)
}

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

// checkTuples walks v as far as it consists of tuples, which are hashed, and frozen, by recursion.
func (ev *evaluation) checkTuples(v starlark.Value, depth int) error {
	t, ok := v.(starlark.Tuple)
	switch {
	case !ok && depth == 0:
		return ev.checkKey(v, 1)
	case !ok:
		return ev.checkKey(v, 8) // tuples are compared element by element
	}
	if depth >= maxNested {
		return errDeep
	}
	for _, element := range t {
		if err := ev.spend(); err != nil {
			return err
		}
		if err := ev.checkTuples(element, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// wideFree is how many keys may collide before they count.
const wideFree = 1 << 10

// checkKey counts the keys whose hash a script can choose: numbers, whose hash is a multiple of the lower 32 bits, and
// what is made of them. Each may have to be compared with all before it. Of small ones there are too few to matter.
// weight is what comparing two takes.
func (ev *evaluation) checkKey(v starlark.Value, weight int64) error {
	switch v := v.(type) {
	case starlark.String, starlark.Bytes:
		return ev.checkText(v)
	case starlark.Bool, starlark.NoneType:
		return nil
	case starlark.Int:
		if i, ok := v.Int64(); ok && -1<<16 < i && i < 1<<16 {
			return nil
		}
	}
	if ev.wide++; ev.wide <= wideFree {
		return nil
	}
	return ev.charge(weight * ev.wide)
}

// checkText counts a text that is hashed: what hashing a long one takes, and the short ones that collide.
func (ev *evaluation) checkText(v starlark.Value) error {
	s, ok := v.(starlark.String)
	if !ok || len(s) > maxChosen {
		return ev.charge(lengthSteps(v))
	}
	if ev.short++; ev.short <= wideFree {
		return nil
	}
	if ev.crowd == nil {
		ev.crowd = &crowd{}
	}
	return ev.charge(ev.crowd.add(string(s)))
}

// maxChosen is how long a text may be whose hash is the same in every process, so that a script can choose texts that
// collide. The hash of longer ones is seeded.
const maxChosen = 11

// A crowd counts different short texts by the lower bits of their hash, which say where in a table they belong. Of those
// that nobody chose, even millions are spread too thinly to count.
type crowd struct {
	counts [1 << 14]int32
	seen   map[string]bool // where it is crowded
}

// add gives the steps for a text: as many as it collides with, or 0 where that are few, or when it is not new.
func (c *crowd) add(s string) int64 {
	h := uint32(2166136261) // FNV-1a, as the interpreter does it
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	count := &c.counts[h%uint32(len(c.counts))]
	if *count < wideFree {
		*count++
		return 0
	}
	if c.seen[s] {
		return 0
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[s] = true
	*count++
	return int64(*count)
}
