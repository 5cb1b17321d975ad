package javascript

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"

	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/runtimes/internal/pattern"
)

// Regular expressions. Each pattern is translated by package pattern, since goja understands only a part of them. goja gets a text for Go's
// package regexp, which needs linear time. It is used for the first search in a text, or for a whole function such as replace, where it
// finds the same as JavaScript; see matched. All other searches are those of [pattern.Program]. goja's own third way, regexp2, is never
// reached: it finds other matches, cannot be stopped, and takes its time from the clock.
//
// A search of Go's package regexp cannot be stopped. Its time is at most the product of the instructions of the pattern and the characters of
// the text. It is used only if that product is small. A program counts its steps, and looks again and again whether the call was stopped. If
// there may be many matches, goja is made to search them one by one.

const (
	// maxGo is the maximum of [pattern.Pattern.Cost] for a search of Go's package regexp. It takes 0.1 to 0.2 seconds.
	maxGo = 5_000_000
	// maxSearch is how many steps a program may take to search one match. It takes some 10 ns for each.
	maxSearch = 20_000_000
)

// patternFeatures describe the regular expressions that a script has made.
type patternFeatures struct {
	all  map[string]pattern.Pattern // by what goja has compiled
	size float64                    // about how many bytes these have
}

// merge adds the features of a file.
func (p *patternFeatures) merge(other patternFeatures) {
	for _, each := range other.all {
		p.add(each)
	}
}

// add adds a pattern that goja is to compile.
func (p *patternFeatures) add(each pattern.Pattern) {
	if p.all == nil {
		p.all = map[string]pattern.Pattern{}
	}
	if _, known := p.all[each.Text]; !known {
		p.all[each.Text] = each
		p.size += float64(each.Memory)
	}
}

// translated returns what a pattern becomes, and the flags for goja.
func translated(source []uint16, flags string) (pattern.Pattern, string, *pattern.Error) {
	p, err := pattern.Translate(source, flags)
	var fault *pattern.Error
	if errors.As(err, &fault) {
		return pattern.Pattern{}, "", fault
	}
	return p, strings.Replace(flags, "i", "", 1), nil
}

// pattern checks a pattern that the script makes at run time, and ends the call if the pattern exceeds a limit. It returns the text and
// the flags for goja.
func (r *run) pattern(source goja.String, flags string) (text goja.String, goFlags string) {
	p, goFlags, fault := translated(unitsOf(source), flags)
	switch {
	case fault != nil && fault.Large:
		r.refuse(&engine.Error{Kind: engine.KindMemory, Msg: invalidPattern(fault), Hint: smallerPattern})
	case fault != nil:
		panic(r.syntaxError(&engine.Error{Kind: engine.KindRuntime, Msg: invalidPattern(fault), Hint: fault.Hint}))
	}
	r.patterns.add(p)
	r.need(r.patterns.size, "the regular expressions")
	r.sweepRegExp()
	if r.sources == nil {
		r.sources = map[string]goja.String{}
	}
	r.sources[p.Text] = source
	return asString(p.Text), goFlags
}

// smallerPattern is the hint for a pattern that exceeds a limit.
const smallerPattern = "shorten it, or make several of it"

// unitsOf returns the code units of a pattern, but not many more than it may have.
func unitsOf(s goja.String) []uint16 {
	units := make([]uint16, min(s.Length(), pattern.MaxLength+1))
	for i := range units {
		units[i] = s.CharAt(i)
	}
	return units
}

// syntaxError returns the SyntaxError that a script gets for e.
func (r *run) syntaxError(e *engine.Error) any {
	object, err := r.vm.New(r.vm.GlobalObject().Get("SyntaxError"), asString(e.Msg))
	if err != nil {
		return r.throwable(e)
	}
	return r.noted(object, e)
}

// invalidPattern returns the message for a pattern that cannot be used.
func invalidPattern(fault *pattern.Error) string {
	switch {
	case fault.Large:
		return "the regular expression is too large: " + fault.Msg
	case fault.At < 0:
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
		if at, l, ok := insideOf(o); ok && l.matches && pattern.IgnoresCase(patternSource(at, l)) {
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
	switch {
	case s == nil && goja.IsUndefined(flags):
		s = asString("")
	case s == nil: // goja throws
		return []goja.Value{asString(""), flags}
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
		flags := ""
		if symbol == goja.SymMatchAll {
			r.needGlobal(call, "matchAll")
			flags = "g"
		}
		if v, done := r.delegate(call, symbol); done {
			return v
		}
		call, s := r.texts(r.argTexts(call, 0))
		if s == nil {
			return f(call)
		}
		call.Arguments = []goja.Value{r.newRegExp(call.Argument(0), flags)}
		v, _ := r.delegate(call, symbol)
		return v
	}
}

// newRegExp makes a RegExp as a script does.
func (r *run) newRegExp(source goja.Value, flags string) *goja.Object {
	r.sweepRegExp()
	made, err := r.vm.New(r.regExps.Get("constructor"), source, asString(flags))
	if err != nil {
		panic(err)
	}
	return made
}

// patternOfObject returns the pattern of a RegExp.
func (r *run) patternOfObject(o *goja.Object) pattern.Pattern {
	at, l, _ := insideOf(o)
	p, ok := r.patterns.all[patternSource(at, l)]
	if !ok { // it is one of this package
		p, _, _ = translated(unitsOf(sourceOf(o)), "")
		p.Text = patternSource(at, l)
		r.patterns.add(p)
	}
	return p
}

// matched is the guard of the functions that search with a regular expression, except for exec and test, which they may be made to call.
func matched(r *run, call goja.FunctionCall, f native) goja.Value {
	call, o, s := r.searching(call)
	call = r.countResults(r.expandTemplate(call, s), 1)
	r.needUnmodified(o)
	start, p := r.startOf(o), r.patternOfObject(o)
	if p.Own || p.Empty || p.CostOfAll(s.Length()) > maxGo || !simple(s) || start != 0 {
		r.matchStepwise()
	}
	v := f(call)
	r.check()
	return v
}

// searching checks a call of a function that searches with a regular expression, and returns the RegExp and the text in which it searches.
func (r *run) searching(call goja.FunctionCall) (goja.FunctionCall, *goja.Object, goja.String) {
	r.sweepRegExp()
	s := r.textOrThrow(call.Argument(0))
	call.Arguments = append([]goja.Value{s}, call.Arguments[min(1, len(call.Arguments)):]...)
	o, _ := call.This.(*goja.Object)
	r.needUnmodified(o)
	return call, o, s
}

// needUnmodified throws if o is not an unmodified RegExp. The script may change it while a value is converted to a text or number.
func (r *run) needUnmodified(o *goja.Object) {
	if o == nil || !r.unmodified(o) {
		panic(r.vm.NewTypeError("this method needs a RegExp that was not changed"))
	}
}

// simple reports whether Go's package regexp, as goja uses it, finds all matches in a text that JavaScript finds.
func simple(s goja.String) bool { return width(s) == 1 && !strings.Contains(s.String(), "\r") }

// executed is the guard of exec, and tested that of test.
func executed(r *run, call goja.FunctionCall, f native) goja.Value {
	call, o, s := r.searching(call)
	found, ok := r.search(o, s)
	switch {
	case !ok:
		return r.checked(f(call))
	case found == nil:
		return goja.Null()
	}
	return r.matchResult(o, s, found)
}

func tested(r *run, call goja.FunctionCall, f native) goja.Value {
	call, o, s := r.searching(call)
	found, ok := r.search(o, s)
	if !ok {
		return r.checked(f(call))
	}
	return r.vm.ToValue(found != nil)
}

// checked returns v if the call was not stopped.
func (r *run) checked(v goja.Value) goja.Value {
	r.check()
	return v
}

// search searches the next match of a regular expression by its program. ok is false if goja's function is as good, and ends soon: Go's
// package regexp can search only from the beginning of a text.
func (r *run) search(o *goja.Object, s goja.String) (found []int, ok bool) {
	p, start := r.patternOfObject(o), r.startOf(o)
	sticky := o.Get("sticky").ToBoolean()
	if !p.Own && p.Cost(s.Length()) <= maxGo && start == 0 && !sticky && (!p.ASCII || simple(s)) {
		return nil, false
	}
	if start <= float64(s.Length()) {
		program := p.Program()
		found = program.Match(r.textFor(s, program.Unicode), int(start), sticky, r.watch)
	}
	if sticky || o.Get("global").ToBoolean() {
		next := 0
		if found != nil {
			next = found[1]
		}
		r.setLastIndex(o, float64(next))
	}
	return found, true
}

// startOf returns the place where the next search of a RegExp begins. If that is an object, it is replaced: goja would convert it again, and
// might get another place.
func (r *run) startOf(o *goja.Object) float64 {
	if !o.Get("global").ToBoolean() && !o.Get("sticky").ToBoolean() {
		return 0
	}
	v := o.Get("lastIndex")
	at := v.ToFloat()
	if _, ok := v.(*goja.Object); ok {
		r.setLastIndex(o, at)
		r.needUnmodified(o)
	}
	if !(at > 0) {
		return 0
	}
	return math.Trunc(at)
}

// setLastIndex sets the place where the next search of a RegExp begins. It throws if the script has frozen that.
func (r *run) setLastIndex(o *goja.Object, at float64) {
	if err := o.Set("lastIndex", at); err != nil {
		panic(err)
	}
}

// watch ends a search that takes too long.
func (r *run) watch(steps, bytes int) {
	r.check()
	if bytes > 1<<16 {
		r.need(float64(bytes), "the search of a regular expression")
	}
	if steps > maxSearch {
		r.refuse(&engine.Error{
			Kind: engine.KindTimeout, Msg: fmt.Sprintf("a regular expression took more than %d million steps", maxSearch/1_000_000),
			Hint: "search in a shorter text; repetitions within repetitions, look-around and back-references can take very long",
		})
	}
}

// A searchedText is the last text in which a program searched: often it searches again in the same.
type searchedText struct {
	original goja.String
	unicode  bool
	text     *pattern.Text
}

// textFor returns a text for a program.
func (r *run) textFor(s goja.String, unicode bool) *pattern.Text {
	last := &r.searched
	if last.text == nil || last.unicode != unicode || !sameText(last.original, s) {
		r.need(float64(s.Length())*8, "the text of a regular expression")
		*last = searchedText{s, unicode, pattern.NewText(s.Length(), s.CharAt, unicode)}
	}
	return last.text
}

// sameText reports whether two texts have the same memory, without a comparison of their characters.
func sameText(a, b goja.String) bool {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Type() != w.Type() || a.Length() != b.Length() {
		return false
	}
	if v.Kind() == reflect.String {
		return unsafe.StringData(v.String()) == unsafe.StringData(w.String())
	}
	return v.UnsafePointer() == w.UnsafePointer()
}

// matchResult returns what exec returns for a match.
func (r *run) matchResult(o *goja.Object, s goja.String, found []int) goja.Value {
	values := make([]any, len(found)/2)
	for i := range values {
		values[i] = goja.Undefined()
		if begin, end := found[2*i], found[2*i+1]; begin >= 0 && end >= 0 {
			values[i] = s.Substring(begin, end)
		}
	}
	groups := goja.Value(goja.Undefined())
	if program := r.patternOfObject(o).Program(); len(program.Names) > 0 {
		named := r.vm.CreateObject(nil)
		for _, name := range program.Names {
			_ = named.Set(name.Name, values[name.Group])
		}
		groups = named
	}
	match := r.vm.NewArray(values...)
	for _, property := range []struct {
		name  string
		value any
	}{{"index", found[0]}, {"input", s}, {"groups", groups}} {
		_ = match.DefineDataProperty(property.name, r.vm.ToValue(property.value), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return match
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

// matchStepwise makes goja search matches one by one through exec, which has a guard. goja stops using its optimized path when the
// property exec is defined again.
func (r *run) matchStepwise() {
	if r.stepwise {
		return
	}
	r.stepwise = true
	_ = r.regExps.DefineDataProperty("exec", r.regExps.Get("exec"), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}
