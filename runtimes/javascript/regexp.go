package javascript

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/engine/cputime"
	"metascript/runtimes/internal/pattern"
)

// Regular expressions. goja uses Go's package regexp where it can. The time of a match grows with the size of the pattern times the
// size of the text, so that product is limited. If there may be many matches, goja is made to search them one by one. For
// look-around and back-references goja uses regexp2, which may run forever. It has a timeout, but goja treats a match that
// timed out as no match. So the timeout is short, and a search that found nothing within it ends the call: no result is better than
// a wrong one. The timeout counts wall-clock time, and the machine may be busy. So such a search is first repeated until it has used
// enough processor time.

const (
	// matchTimeout is how long regexp2 may search one match.
	matchTimeout = 200 * time.Millisecond
	// maxPattern is the maximum number of states of a pattern: the number of its characters, each counted as often as it is
	// repeated.
	maxPattern = 10_000
	// maxFolded is the maximum number of characters for which the compilation of one case-insensitive pattern looks up the other
	// case. That takes some 30 ns for each, and a pattern is compiled in one step.
	maxFolded = 16 * allCharacters
	// maxMatch is the maximum of the number of states of a pattern times the number of characters of the text.
	maxMatch = 100_000_000
)

// setMatchTimeout sets regexp2's timeout, which is global in the process and read when a pattern is compiled.
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

// repetition parses {n}, {n,} or {n,m} at the beginning of s. It returns about the larger number and the offset of the closing
// brace, or 1 and 0 if s does not begin with a repetition.
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

// backtracks estimates whether goja will use regexp2 for a pattern.
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

// allCharacters is the number of Unicode characters.
const allCharacters = utf8.MaxRune + 1

// folded estimates for how many characters the compilation of a pattern looks up the other case. It is 0 for a case-sensitive
// pattern. Otherwise each character in a range counts and, for regexp2, each character in a negated class such as \S.
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

// inlineFlags matches what may enable a flag within a pattern.
var inlineFlags = regexp.MustCompile(`\(\?[a-zA-Z^-]`)

// rangeEnd returns the first character of a pattern, which may be an escape: the end of a range.
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

// patternFeatures describe the regular expressions that a script has made.
type patternFeatures struct {
	states     int               // the states of the largest one
	backtracks bool              // at least one needs regexp2
	exact      map[string]string // the exact forms of those that were translated and have one, by what goja has compiled
	exactSize  float64           // how many characters these have
}

// merge adds the features of a file.
func (p *patternFeatures) merge(other patternFeatures) {
	p.states = max(p.states, other.states)
	p.backtracks = p.backtracks || other.backtracks
	for text, exact := range other.exact {
		p.note(text, exact)
	}
}

// note records the exact form of a pattern.
func (p *patternFeatures) note(text, exact string) {
	if p.exact == nil {
		p.exact = map[string]string{}
	}
	if _, known := p.exact[text]; !known {
		p.exactSize += float64(len(text) + len(exact))
	}
	p.exact[text] = exact
}

// add adds a pattern that goja is to compile. ok is false if the pattern exceeds a limit.
func (p *patternFeatures) add(c compiled) (ok bool) {
	p.states = max(p.states, c.states)
	p.backtracks = p.backtracks || c.backtracks
	if c.exact != "" {
		p.note(c.text, c.exact)
	}
	return c.states <= maxPattern && folded(c.text, c.flags) <= maxFolded
}

// A compiled is what goja compiles for a pattern.
type compiled struct {
	text, flags string
	states      int
	backtracks  bool
	changed     bool   // it is not the pattern that the script has
	exact       string // see [pattern.Pattern]
}

// translated returns what goja compiles for a pattern. It is another one if goja would not do what the pattern says: it knows no \p{…},
// other rules for case, and only \n at the end of a line.
func translated(source []uint16, flags string) (compiled, *pattern.Error) {
	text := string(utf16.Decode(source))
	if !strings.ContainsAny(flags, "uimvd") && !strings.Contains(text, `\b`) && !strings.Contains(text, `\B`) {
		return compiled{text: text, flags: flags, states: states(text), backtracks: backtracks(text)}, nil
	}
	p, err := pattern.Translate(source, flags)
	var fault *pattern.Error
	if errors.As(err, &fault) {
		return compiled{}, fault
	}
	if !p.KeepsCase {
		flags = strings.Replace(flags, "i", "", 1)
	}
	return compiled{p.Text, flags, p.States, p.Backtracks, true, p.Exact}, nil
}

// tooManyStates is the message for a pattern that exceeds a limit.
var tooManyStates = fmt.Sprintf("the regular expression has more than %d states, or too large character classes that ignore case", maxPattern)

// pattern checks a pattern that the script makes at run time, and ends the call if the pattern exceeds a limit. It returns the text and
// the flags for goja.
func (r *run) pattern(source goja.String, flags string) (text goja.String, goFlags string) {
	if r.asIs {
		return source, flags
	}
	if source.Length() > maxPattern {
		r.refusePattern()
	}
	units := make([]uint16, source.Length())
	for i := range units {
		units[i] = source.CharAt(i)
	}
	c, fault := translated(units, flags)
	if fault != nil && fault.Large {
		r.refusePattern()
	}
	if fault != nil {
		panic(r.syntaxError(&engine.Error{Kind: engine.KindRuntime, Msg: invalidPattern(fault), Hint: fault.Hint}))
	}
	if !r.patterns.add(c) {
		r.refusePattern()
	}
	r.need(r.patterns.exactSize, "the regular expressions")
	r.sweepRegExp()
	if !c.changed {
		return source, flags
	}
	if r.sources == nil {
		r.sources = map[string]goja.String{}
	}
	r.sources[c.text] = source
	return asString(c.text), c.flags
}

func (r *run) refusePattern() {
	r.refuse(&engine.Error{Kind: engine.KindMemory, Msg: tooManyStates, Hint: "shorten it, or repeat less in it"})
}

// syntaxError returns the SyntaxError that a script gets for e.
func (r *run) syntaxError(e *engine.Error) any {
	object, err := r.vm.New(r.vm.GlobalObject().Get("SyntaxError"), asString(e.Msg))
	if err != nil {
		return r.throwable(e)
	}
	return r.noted(object, e)
}

func invalidPattern(fault *pattern.Error) string {
	if fault.At < 0 {
		return "the regular expression is not valid: " + fault.Msg
	}
	return fmt.Sprintf("the regular expression is not valid at character %d: %s", fault.At+1, fault.Msg)
}

// restoreSource makes the source of a pattern what the script wrote, if goja has compiled another one.
func (r *run) restoreSource(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok {
		return
	}
	if text := sourceOf(o); text != nil {
		if source, ok := r.sources[text.String()]; ok {
			setSource(o, source)
			delete(r.sources, text.String())
		}
	}
}

// literal is inserted by source.go around a literal whose pattern was translated. The second argument is the source.
func (r *run) literal(call goja.FunctionCall) goja.Value {
	setSource(call.Arguments[0].(*goja.Object), call.Arguments[1].(goja.String))
	return call.Arguments[0]
}

func setSource(o *goja.Object, source goja.String) {
	if at, l, ok := insideOf(o); ok && l.matches {
		*(*goja.String)(unsafe.Add(at, l.source)) = source
	}
}

// ignoresCase is the guard of the getter ignoreCase: goja does not get the flag for a pattern that was translated.
func ignoresCase(r *run, call goja.FunctionCall, f native) goja.Value {
	if o, ok := call.This.(*goja.Object); ok {
		if at, l, ok := insideOf(o); ok && l.matches && strings.HasSuffix(patternSource(at, l), pattern.Folded) {
			return r.vm.ToValue(true)
		}
	}
	return f(call)
}

// patternSource returns the pattern that goja compiled for a RegExp.
func patternSource(at unsafe.Pointer, l inside) string {
	p := pointerAt(at, l.pattern)
	if p == nil { // of the prototype
		return ""
	}
	return *(*string)(unsafe.Add(p, l.compiled))
}

// sweepRegExp guards the prototype of regular expressions. It gets the prototype from a literal, since the script may have changed
// the global RegExp.
func (r *run) sweepRegExp() {
	if r.regExps != nil {
		return
	}
	r.regExps = r.sample(samplePattern).Prototype()
	r.sweep(r.regExps, "RegExp.prototype")
	class := r.regExps.Get("constructor").(*goja.Object)
	_ = r.regExps.DefineDataProperty("constructor", class, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	_ = class.DefineDataPropertySymbol(goja.SymSpecies, class, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	_, r.originalType = innerOf(r.regExps)
}

// unmodified reports whether o is a regular expression whose methods the script did not replace: goja's loops over the results of
// an exec function of the script have no limit. goja changes the inner type of the prototype when exec is replaced.
func (r *run) unmodified(o *goja.Object) bool {
	_, inner := innerOf(r.regExps)
	return o.ClassName() == "RegExp" && o.Prototype() == r.regExps && r.harmless(o.GetOwnPropertyNames()) &&
		(r.stepwise || inner == r.originalType)
}

// harmless reports whether the own properties of a regular expression, with these names, replace no built-in property. Other
// properties are allowed.
func (r *run) harmless(names []string) bool {
	if len(names) > 20 { // they are checked for each match
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
	v := f(call)
	r.restoreSource(v)
	return v
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
		pattern = sourceOf(o) // not o.source, which the script may have replaced
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
	text, goFlags := r.pattern(pattern, s.Substring(0, min(maxFlags, s.Length())).String())
	return []goja.Value{text, asString(goFlags)}
}

// maxFlags is more than the number of flags that exist. goja reports an error for that many.
const maxFlags = 20

// sourceOf returns the text of a regular expression as goja stores it, even if the script replaced its source property.
func sourceOf(o *goja.Object) goja.String {
	at, l, ok := insideOf(o)
	if !ok || !l.matches {
		return nil
	}
	return *(*goja.String)(unsafe.Add(at, l.source))
}

// patternOf returns the guard of the methods of strings that convert their argument to a regular expression.
func patternOf(symbol *goja.Symbol) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		if symbol == goja.SymMatchAll {
			r.needGlobal(call, "matchAll")
		}
		if v, done := r.delegate(call, symbol); done {
			return v
		}
		call, _ = r.texts(r.argTexts(call, 0))
		if s, ok := call.Argument(0).(goja.String); ok {
			r.pattern(s, "")
		}
		return f(call)
	}
}

// matched is the guard of every function that matches a regular expression.
func matched(r *run, call goja.FunctionCall, f native) goja.Value {
	r.sweepRegExp()
	if o, ok := call.This.(*goja.Object); !ok || !r.unmodified(o) {
		panic(r.vm.NewTypeError("this method needs a RegExp that was not changed"))
	}
	call = r.argTexts(call, 0)
	s, ok := call.Argument(0).(goja.String)
	if !ok {
		return f(call)
	}
	r.useExact(call.This.(*goja.Object), s)
	work := float64(s.Length()+1) * float64(r.patterns.states+1)
	if work > maxMatch {
		r.refuse(&engine.Error{
			Kind: engine.KindTimeout,
			Msg:  fmt.Sprintf("a regular expression would take too long on a text of %d characters", s.Length()),
			Hint: "split the text first, or use a smaller pattern",
		})
	}
	if r.patterns.backtracks || work*float64(s.Length()) > maxMatch {
		r.matchStepwise()
	}
	call = r.countResults(r.expandTemplate(call, s), 1)
	at := r.lastIndex(call.This)
	began := time.Now()
	r.conclusive = false
	v := f(call)
	if noMatch(v) && !r.conclusive && time.Since(began) >= matchTimeout {
		v = r.searchAgain(at, func() goja.Value { return f(call) })
	}
	r.conclusive = true
	r.check()
	return v
}

// useExact makes a RegExp use the exact form of its pattern if a text needs that. It needs regexp2, which is slower.
func (r *run) useExact(o *goja.Object, s goja.String) {
	at, l, ok := insideOf(o)
	if len(r.patterns.exact) == 0 || !ok || !l.matches {
		return
	}
	text := patternSource(at, l)
	exact, ok := r.patterns.exact[text]
	if !ok || simple(s.String()) {
		return
	}
	flags := o.Get("flags").String()
	if strings.HasSuffix(text, pattern.Folded) {
		flags = strings.Replace(flags, "i", "", 1)
	}
	key := flags + "/" + exact
	made := r.exactPatterns[key]
	if made == nil {
		made = r.newExact(exact, flags)
		if len(r.exactPatterns)%maxExact == 0 { // it forgets the old ones
			r.exactPatterns = map[string]*goja.Object{}
		}
		r.exactPatterns[key] = made
	}
	other, _, _ := insideOf(made)
	*(*unsafe.Pointer)(unsafe.Add(at, l.pattern)) = pointerAt(other, l.pattern)
}

// maxExact is how many exact patterns are kept.
const maxExact = 64

// simple reports whether a pattern needs no exact form for a text.
func simple(s string) bool { return onlyASCII(s) && !strings.Contains(s, "\r") }

// newExact makes a RegExp whose pattern is not translated again.
func (r *run) newExact(pattern, flags string) *goja.Object {
	r.patterns.backtracks, r.asIs = true, true
	defer func() { r.asIs = false }()
	made, err := r.vm.New(r.regExps.Get("constructor"), asString(pattern), asString(flags))
	if err != nil {
		panic(err)
	}
	return made
}

// lastIndex returns a function that resets the position at which the next search of a regular expression begins to the current
// one.
func (r *run) lastIndex(pattern goja.Value) (restore func()) {
	if !r.patterns.backtracks {
		return func() {} // Go's regular expressions have no timeout
	}
	o := pattern.(*goja.Object)
	at := o.Get("lastIndex")
	return func() { _ = o.Set("lastIndex", at) } // it fails only for a frozen object, for which the search has thrown before
}

// searchAgain repeats a search that regexp2's timeout may have stopped, from the same position. It ends the call if the search has
// used as much processor time as the timeout allows. The processor time of the first search is not known, so a search may take
// twice as long.
func (r *run) searchAgain(restore func(), search func() goja.Value) goja.Value {
	clock := cputime.Thread()
	for range cputime.Factor {
		if used, ok := clock(); !ok || used >= matchTimeout/2 {
			break
		}
		r.check()
		restore()
		began := time.Now()
		if v := search(); !noMatch(v) || r.conclusive || time.Since(began) < matchTimeout {
			return v
		}
	}
	r.refuse(&engine.Error{
		Kind: engine.KindTimeout, Msg: fmt.Sprintf("a regular expression took longer than %s", matchTimeout),
		Hint: "repetitions within repetitions, look-around and back-references can take very long",
	})
	return nil
}

// allMatched is the guard of matchAll.
func allMatched(r *run, call goja.FunctionCall, f native) goja.Value {
	v := matched(r, call, f)
	r.sweepIterator(v, "RegExpStringIterator.prototype")
	return v
}

// escapes are how the source of a pattern is written if it has such characters.
var escapes = map[uint16]string{'\n': `\n`, '\r': `\r`, 0x2028: `\u2028`, 0x2029: `\u2029`, '/': `\/`}

// writtenSource implements the getter source of regular expressions. goja writes / in another way.
func writtenSource(r *run, call goja.FunctionCall, f native) goja.Value {
	o, ok := call.This.(*goja.Object)
	if !ok || o.ClassName() != "RegExp" {
		return f(call)
	}
	source := sourceOf(o)
	if source == nil || source.Length() == 0 {
		return f(call)
	}
	var b goja.StringBuilder
	class, escaped := false, false
	for i := range source.Length() {
		c := source.CharAt(i)
		text, ok := escapes[c]
		switch {
		case !ok || c == '/' && (class || escaped):
			b.WriteString(source.Substring(i, i+1))
		case escaped:
			b.WriteUTF8String(text[1:])
		default:
			b.WriteUTF8String(text)
		}
		class = !escaped && c == '[' || class && (escaped || c != ']')
		escaped = !escaped && c == '\\'
	}
	return b.String()
}

// patternText implements RegExp.prototype.toString, which works for any object with source and flags.
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

func noMatch(v goja.Value) bool {
	switch {
	case v == nil || goja.IsNull(v):
		return true
	case kind(v) == "a boolean":
		return !v.ToBoolean()
	}
	return false
}

// matchStepwise makes goja search matches one by one through exec, which has a guard. goja stops using its optimized path when the
// property exec is defined again.
func (r *run) matchStepwise() {
	if r.stepwise {
		return
	}
	r.stepwise = true
	_ = r.regExps.DefineDataProperty("exec", r.regExps.Get("exec"), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}
