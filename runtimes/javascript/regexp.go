package javascript

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/engine/cputime"
)

// Regular expressions. goja uses Go's package regexp where it can. The time of a match grows with the size of the pattern times the
// size of the text, so that product is bounded; where there may be many matches, goja is made to look for them one by one. For
// look-around and back-references goja uses regexp2, which may run without end. It has a timeout, but goja treats a match that
// timed out as no match. So the timeout is short, and a search that found nothing after that time ends the call: a wrong answer is
// worse than none. The timeout counts the time by the clock, and the machine may be busy. So such a search is first repeated until
// it has had enough processor time.

const (
	// matchTimeout is how long regexp2 may look for one match.
	matchTimeout = 200 * time.Millisecond
	// maxPattern is how many states a pattern may have: the sum of its characters, each as often as it is repeated.
	maxPattern = 10_000
	// maxFolded is for how many characters it may be looked up what they are in the other case, when a pattern is compiled:
	// some 30 ns for each, and a pattern is compiled in one step.
	maxFolded = 16 * allCharacters
	// maxMatch is how many states of a pattern may be tried on a text, once for each character.
	maxMatch = 100_000_000
)

// setMatchTimeout sets regexp2's clock, which is one for the process and read when a pattern is compiled.
var setMatchTimeout = sync.OnceFunc(func() { regexp2.DefaultMatchTimeout = matchTimeout })

// states estimates how many states a pattern has.
func states(pattern string) int {
	type group struct{ sum, last int }
	stack := []group{{}}
	for i := 0; i < len(pattern); i++ {
		top := &stack[len(stack)-1]
		switch pattern[i] {
		case '\\':
			i++
			top.sum, top.last = top.sum+1, 1
		case '(':
			stack = append(stack, group{})
		case ')':
			if len(stack) > 1 {
				inner := top.sum + 2
				stack = stack[:len(stack)-1]
				top = &stack[len(stack)-1]
				top.sum, top.last = top.sum+inner, inner
			}
		case '{':
			times, end := repetition(pattern[i:])
			top.sum += top.last * max(0, times-1)
			top.last *= max(1, times)
			i += end
		default:
			top.sum, top.last = top.sum+1, 1
		}
		if top.sum > maxPattern {
			return top.sum
		}
	}
	sum := 0
	for _, g := range stack {
		sum += g.sum
	}
	return sum
}

// repetition reads {n}, {n,} and {n,m}, and gives the larger number and the length of what stands before the brace
// that closes it; 1 and 0 if it is none.
func repetition(s string) (times, length int) {
	end := strings.IndexByte(s, '}')
	if end < 0 || end > 20 {
		return 1, 0
	}
	var low, high int
	if n, _ := fmt.Sscanf(s[:end], "{%d,%d", &low, &high); n == 0 {
		return 1, 0
	}
	return min(max(low, high)+1, maxPattern+1), end
}

// backtracks reports whether goja will use regexp2 for a pattern, as far as can be told.
func backtracks(pattern string) bool {
	for i := 0; i+1 < len(pattern); i++ {
		next := pattern[i+1]
		switch pattern[i] {
		case '(':
			if next == '?' && !strings.HasPrefix(pattern[i:], "(?:") {
				return true
			}
		case '\\':
			if next == 'k' || next >= '1' && next <= '9' {
				return true
			}
			i++
		case '{':
			if n, _ := repetition(pattern[i:]); n > 1000 {
				return true
			}
		}
	}
	return false
}

// allCharacters is how many there are in Unicode.
const allCharacters = utf8.MaxRune + 1

// folded estimates for how many characters it is looked up what they are in the other case, when a pattern is compiled that
// takes no notice of case: for each in a range, and regexp2 does so for what is not of a kind, \S, too.
func folded(pattern, flags string) (sum int) {
	if !strings.Contains(flags, "i") && !inlineFlags.MatchString(pattern) {
		return 0
	}
	class, regexp2 := false, backtracks(pattern)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
			if (class || regexp2) && i < len(pattern) && strings.IndexByte("DSW", pattern[i]) >= 0 {
				sum += allCharacters
			}
		case class && c == ']':
			class = false
		case class && c == '-':
			sum += rangeEnd(pattern[i+1:])
		case !class && c == '[':
			class = true
		case !class && c == '.' && regexp2:
			sum += allCharacters
		}
	}
	return sum
}

// inlineFlags finds what may switch a flag on within a pattern.
var inlineFlags = regexp.MustCompile(`\(\?[a-zA-Z^-]`)

// rangeEnd is the character that a pattern begins with.
func rangeEnd(pattern string) int {
	if escape := rangeEscape.FindStringSubmatch(pattern); escape != nil {
		c, err := strconv.ParseUint(escape[1], 16, 32)
		if err != nil || c > allCharacters {
			return allCharacters
		}
		return int(c)
	}
	c, _ := utf8.DecodeRuneInString(pattern)
	return int(c)
}

var rangeEscape = regexp.MustCompile(`^\\[ux]\{?([0-9a-fA-F]+)`)

// patternFeatures are what is known of the regular expressions that a script has made.
type patternFeatures struct {
	states     int  // of the largest
	backtracks bool // one needs regexp2
}

func (p *patternFeatures) add(pattern, flags string) (ok bool) {
	n := states(pattern)
	p.states = max(p.states, n)
	p.backtracks = p.backtracks || backtracks(pattern)
	return n <= maxPattern && folded(pattern, flags) <= maxFolded
}

// tooManyStates says what is wrong with a pattern that is refused.
var tooManyStates = fmt.Sprintf("the regular expression has more than %d states, or too large classes of characters without case", maxPattern)

// pattern takes a pattern that is made while the script runs.
func (r *run) pattern(pattern goja.String, flags string) {
	if pattern.Length() > maxPattern || !r.patterns.add(pattern.String(), flags) {
		r.refuse(&engine.Error{Kind: engine.KindMemory, Msg: tooManyStates, Hint: "shorten it, or repeat less in it"})
	}
	r.sweepRegExp()
}

// sweepRegExp guards the prototype of regular expressions, which the names may not lead to any more.
func (r *run) sweepRegExp() {
	if r.regExps != nil {
		return
	}
	r.regExps = r.sample(aPattern).Prototype()
	r.sweep(r.regExps, "RegExp.prototype")
	class := r.regExps.Get("constructor").(*goja.Object)
	_ = r.regExps.DefineDataProperty("constructor", class, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	_ = class.DefineDataPropertySymbol(goja.SymSpecies, class, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	_, r.intact = innerOf(r.regExps)
}

// genuine reports whether o is a regular expression that does what regular expressions do: goja's loops over what an exec
// of the script's returns have no bound. goja changes the inside of the prototype when exec is replaced.
func (r *run) genuine(o *goja.Object) bool {
	_, inner := innerOf(r.regExps)
	return o.ClassName() == "RegExp" && o.Prototype() == r.regExps && r.harmless(o.GetOwnPropertyNames()) &&
		(r.stepwise || inner == r.intact)
}

// harmless reports whether names that a regular expression has of its own replace nothing: a script may note what it
// likes in others.
func (r *run) harmless(names []string) bool {
	if len(names) > 20 { // each match goes through them
		return false
	}
	for _, name := range names {
		if name != "lastIndex" && r.regExps.Get(name) != nil {
			return false
		}
	}
	return true
}

func newPattern(r *run, call goja.FunctionCall, f native) goja.Value {
	call.Arguments = patternArgs(r, call.Arguments)
	return f(call)
}

func patternArgs(r *run, args []goja.Value) []goja.Value {
	if len(args) == 0 {
		return args
	}
	flags := goja.Value(goja.Undefined())
	if len(args) > 1 {
		flags = args[1]
	}
	o, ok := args[0].(*goja.Object)
	if ok && o.ClassName() != "RegExp" && method(o, goja.SymMatch) {
		panic(r.vm.NewTypeError("a pattern is a text or a RegExp"))
	}
	var pattern goja.String
	if ok && o.ClassName() == "RegExp" {
		pattern = sourceOf(o) // goja would ask it for its text if it says that it is no pattern
		if goja.IsUndefined(flags) {
			flags = orUndefined(o.Get("flags"))
		}
	} else {
		pattern = r.text(args[0])
	}
	if pattern == nil {
		return args
	}
	s := r.text(flags)
	if s == nil {
		r.pattern(pattern, "")
		return []goja.Value{pattern, flags}
	}
	s = s.Substring(0, min(maxFlags, s.Length()))
	r.pattern(pattern, s.String())
	return []goja.Value{pattern, s}
}

// maxFlags is more flags than there are: so many are too many for goja too.
const maxFlags = 20

// sourceOf is the text of a pattern, whatever it says itself.
func sourceOf(o *goja.Object) goja.String {
	at, l, ok := insideOf(o)
	if !ok || !l.matches {
		return nil
	}
	return *(*goja.String)(unsafe.Add(at, l.source))
}

// patternOf is for the methods of strings that make a pattern of a text.
func patternOf(symbol *goja.Symbol) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		if symbol == goja.SymMatchAll {
			r.needGlobal(call, "matchAll")
		}
		if v, done := r.delegated(call, symbol); done {
			return v
		}
		call, _ = r.texts(r.argTexts(call, 0))
		if s, ok := call.Argument(0).(goja.String); ok {
			r.pattern(s, "")
		}
		return f(call)
	}
}

// matched is around every function that matches.
func matched(r *run, call goja.FunctionCall, f native) goja.Value {
	r.sweepRegExp()
	if o, ok := call.This.(*goja.Object); !ok || !r.genuine(o) {
		panic(r.vm.NewTypeError("this method needs a RegExp that was not changed"))
	}
	call = r.argTexts(call, 0)
	s, ok := call.Argument(0).(goja.String)
	if !ok {
		return f(call)
	}
	work := float64(s.Length()+1) * float64(r.patterns.states+1)
	if work > maxMatch {
		r.refuse(&engine.Error{
			Kind: engine.KindTimeout,
			Msg:  fmt.Sprintf("a regular expression would take too long on a text of %d characters", s.Length()),
			Hint: "take the text apart first, or use a smaller pattern",
		})
	}
	if r.patterns.backtracks || work*float64(s.Length()) > maxMatch {
		r.oneByOne()
	}
	call = r.counted(r.expansion(call, s), 1)
	at := r.lastIndex(call.This)
	began := time.Now()
	r.certain = false
	v := f(call)
	if nothing(v) && !r.certain && time.Since(began) >= matchTimeout {
		v = r.searchAgain(at, func() goja.Value { return f(call) })
	}
	r.certain = true
	r.check()
	return v
}

// lastIndex returns a function that has the next search of a genuine regular expression begin where that of now does.
func (r *run) lastIndex(pattern goja.Value) (restore func()) {
	if !r.patterns.backtracks {
		return func() {} // Go's regular expressions have no clock
	}
	o := pattern.(*goja.Object)
	at := o.Get("lastIndex")
	return func() { _ = o.Set("lastIndex", at) } // it throws if it is frozen, and then the search has done so
}

// searchAgain makes a search again that may have been stopped by regexp2's clock, each time from where it began, and ends the
// call when it had a processor for as long as that clock says. What it was like before it is measured, and so it may take twice as long.
func (r *run) searchAgain(restore func(), search func() goja.Value) goja.Value {
	clock := cputime.Thread()
	for range cputime.Factor {
		if had, ok := clock(); !ok || had >= matchTimeout/2 {
			break
		}
		r.check()
		restore()
		began := time.Now()
		if v := search(); !nothing(v) || r.certain || time.Since(began) < matchTimeout {
			return v
		}
	}
	r.refuse(&engine.Error{
		Kind: engine.KindTimeout, Msg: fmt.Sprintf("a regular expression took longer than %s", matchTimeout),
		Hint: "repetitions within repetitions, look-around and back-references may take for ever",
	})
	return nil
}

// allMatched is matchAll.
func allMatched(r *run, call goja.FunctionCall, f native) goja.Value {
	v := matched(r, call, f)
	r.sweepIterator(v, "RegExpStringIterator.prototype")
	return v
}

// patternText is toString of regular expressions, and of what has a source and flags.
func patternText(r *run, call goja.FunctionCall, f native) goja.Value {
	o, ok := call.This.(*goja.Object)
	if !ok {
		return f(call) // throws
	}
	w := textWriter{r: r, what: "the text of a pattern"}
	for _, part := range []goja.Value{asString("/"), o.Get("source"), asString("/"), o.Get("flags")} {
		w.write(r.textOrThrow(orUndefined(part)))
	}
	return w.b.String()
}

func nothing(v goja.Value) bool {
	switch {
	case v == nil || goja.IsNull(v):
		return true
	case kind(v) == "a boolean":
		return !v.ToBoolean()
	}
	return false
}

// oneByOne makes goja look for matches one by one, through exec, which is guarded: defining that property again is
// what makes it leave its short cut.
func (r *run) oneByOne() {
	if r.stepwise {
		return
	}
	r.stepwise = true
	_ = r.regExps.DefineDataProperty("exec", r.regExps.Get("exec"), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}
