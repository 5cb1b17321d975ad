package javascript

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// Guards of functions that make text or read long text.

func repeated(r *run, call goja.FunctionCall, f native) goja.Value {
	call, s := r.texts(call)
	call, n := number(call, 0)
	if s != nil && n > 0 {
		r.needText(size(s)*n, "the string repetition")
		return repeatText(s, int(n))
	}
	return f(call)
}

// repeatText returns s repeated n times. It doubles the text, while goja appends it n times.
func repeatText(s goja.String, n int) goja.String {
	if s.Length() == 0 || n == 0 {
		return asString("")
	}
	made := s
	for reached := 1; reached < n; {
		more := min(reached, n-reached)
		made = made.Concat(made.Substring(0, more*s.Length()))
		reached += more
	}
	return made
}

func padded(r *run, call goja.FunctionCall, f native) goja.Value {
	call, s := r.texts(call, 1)
	call, n := number(call, 0)
	if s != nil && n > 0 {
		r.needText(n*2, "the padding of a string")
	}
	return f(call)
}

func concatenated(r *run, call goja.FunctionCall, f native) goja.Value {
	all := make([]int, len(call.Arguments))
	for i := range all {
		all[i] = i
	}
	call, s := r.texts(call, all...)
	if s == nil {
		return f(call)
	}
	sum := size(s)
	for _, v := range call.Arguments {
		if s, ok := v.(goja.String); ok {
			sum += size(s)
		}
	}
	r.needText(sum, "the concatenation")
	return f(call)
}

// converted limits the text that a method is called on: factor times its size must be within the limit. It is for methods that goja does
// on UTF-8, which has no halves of surrogate pairs.
func converted(factor float64) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		call, s := r.texts(call)
		if s != nil {
			r.need(size(s)*factor, "the conversion of a text")
			if width(s) > 1 && strings.ContainsRune(s.String(), utf8.RuneError) && !wellFormed(s) {
				panic(r.vm.NewTypeError("the text has half of a surrogate pair: convert it first with toWellFormed()"))
			}
		}
		return f(call)
	}
}

// ownCase matches the languages that have their own rules for case.
var ownCase = regexp.MustCompile(`^(?i:tr|az|lt)\b`)

// localText is the guard of toLocaleLowerCase and toLocaleUpperCase.
func localText(r *run, call goja.FunctionCall, f native) goja.Value {
	if s, ok := call.Argument(0).(goja.String); !ok || ownCase.MatchString(s.String()) {
		r.needAmerican(call.Arguments)
	}
	call.Arguments = nil
	return converted(4)(r, call, f)
}

// onText is like ofText, for the first argument.
func onText(factor float64) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		call = r.argTexts(call, 0)
		if s, ok := call.Argument(0).(goja.String); ok {
			r.need(size(s)*factor, "the conversion of a text")
		}
		return f(call)
	}
}

func dateArgs(r *run, args []goja.Value) []goja.Value {
	if len(args) == 1 {
		if s, ok := args[0].(goja.String); ok {
			r.need(size(s)*1000, "the conversion of a text")
			args = []goja.Value{dateText(s)}
		}
	}
	return numberArgs(r, args)
}

// english matches English of all countries, where texts have the same order.
var english = regexp.MustCompile(`^en\b`)

func compared(r *run, call goja.FunctionCall, f native) goja.Value {
	if s, ok := call.Argument(1).(goja.String); ok && english.MatchString(s.String()) {
		r.needAmerican(call.Arguments[2:])
	} else if len(call.Arguments) > 1 {
		r.needAmerican(call.Arguments[1:])
	}
	call, s := r.texts(call, 0)
	if that, ok := call.Argument(0).(goja.String); ok && s != nil {
		r.need(64*(size(s)+size(that)), "the comparison of texts by language")
	}
	return f(call)
}

func searched(r *run, call goja.FunctionCall, f native) goja.Value {
	if o, ok := call.Argument(0).(*goja.Object); ok && o.ClassName() == "RegExp" {
		return f(call) // throws
	}
	call, s := r.texts(call, 0)
	if what, ok := call.Argument(0).(goja.String); ok && s != nil {
		r.product(float64(s.Length()) * float64(what.Length()))
	}
	return f(call)
}

// method reports whether v has a method with that symbol. If so, goja's function only calls that method.
func method(v goja.Value, symbol *goja.Symbol) bool {
	o, ok := v.(*goja.Object)
	return ok && callable(o.GetSymbol(symbol))
}

// delegate calls the method with that symbol if the first argument has one. done is false if it has none. It reads the method only
// once: a getter may return it only the first time, and then goja would do the work itself, without the guard.
func (r *run) delegate(call goja.FunctionCall, symbol *goja.Symbol) (v goja.Value, done bool) {
	pattern, ok := call.Argument(0).(*goja.Object)
	if !ok || call.This == nil || goja.IsNull(call.This) || goja.IsUndefined(call.This) {
		return nil, false
	}
	of := pattern.GetSymbol(symbol)
	work, ok := goja.AssertFunction(of)
	if !ok {
		if of != nil && !goja.IsNull(of) && !goja.IsUndefined(of) {
			panic(r.vm.NewTypeError(symbol.String() + " is not a function"))
		}
		return nil, false
	}
	v, err := work(pattern, append([]goja.Value{call.This}, call.Arguments[1:]...)...)
	if err != nil {
		panic(err)
	}
	return v, true
}

// needGlobal throws if the first argument is a regular expression without the flag g, which function needs.
func (r *run) needGlobal(call goja.FunctionCall, function string) {
	if o, ok := call.Argument(0).(*goja.Object); ok && o.ClassName() == "RegExp" {
		if !strings.Contains(text(r.textOrThrow(orUndefined(o.Get("flags"))), 100), "g") {
			panic(r.vm.NewTypeError("String.prototype." + function + " needs a RegExp with the flag g"))
		}
	}
}

func split(r *run, call goja.FunctionCall, f native) goja.Value {
	call = withLimit(r, call)
	if v, done := r.delegate(call, goja.SymSplit); done {
		return v
	}
	call, s := r.texts(call, 0)
	if s != nil {
		r.need(r.countParts(s, call.Argument(0))*2*elementSize, "the splitting of a text")
	}
	return f(call)
}

// withLimit returns a call of split with the limit that the standard makes of its second argument: a number of 32 bits without a sign, so
// that -1 is no limit. goja makes another one of it.
func withLimit(r *run, call goja.FunctionCall) goja.FunctionCall {
	limit := call.Argument(1)
	if _, isObject := limit.(*goja.Object); isObject || goja.IsUndefined(limit) {
		return call
	}
	const most = 1 << 31 // no text has more parts
	n, separator := toUint32(limit.ToFloat()), call.Argument(0)
	if call.Arguments = []goja.Value{separator}; n < most {
		call.Arguments = append(call.Arguments, r.vm.ToValue(int64(n)))
	}
	return call
}

// toUint32 is the conversion of that name in the standard.
func toUint32(f float64) uint32 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	const all = 1 << 32
	return uint32(int64(math.Mod(math.Trunc(f), all)))
}

// raw implements String.raw, and counts the text.
func raw(r *run, call goja.FunctionCall, f native) goja.Value {
	o := r.objectOf(call.Argument(0))
	if o == nil {
		return f(call) // throws
	}
	list := r.objectOf(o.Get("raw"))
	if list == nil {
		return f(call)
	}
	w := textWriter{r: r, what: "the text of a template"}
	n := r.lengthOf(list, "the parts of a template")
	for i := range n {
		w.write(r.textOrThrow(element(list, i)))
		if i+1 < n && i+1 < len(call.Arguments) {
			w.write(r.textOrThrow(call.Arguments[i+1]))
		}
	}
	return w.b.String()
}

// A textWriter makes a text from parts. It counts each part before it copies it.
type textWriter struct {
	r     *run
	what  string // names the text in the error if it is too long
	b     goja.StringBuilder
	total float64
}

func (w *textWriter) write(s goja.String) {
	w.r.check()
	w.total += size(s)
	w.r.needText(w.total, w.what)
	w.b.WriteString(s)
}

// replaced limits the result of a replacement. A short replacement is passed to goja. The results of a function are counted. A
// replacement that may become long is expanded step by step, by an expander.
func replaced(r *run, call goja.FunctionCall, f native) goja.Value {
	if v, done := r.delegate(call, goja.SymReplace); done { // for a regular expression: see matched
		return v
	}
	call, s := r.texts(call, 0)
	if s != nil {
		if what, ok := call.Argument(0).(goja.String); ok {
			r.product(float64(s.Length()) * float64(what.Length()))
		}
		call = r.expandTemplate(call, s)
	}
	return f(r.countResults(call, 1))
}

// countResults replaces the argument at that place, a function that returns the replacement of a match, by one that also counts
// the results.
func (r *run) countResults(call goja.FunctionCall, at int) goja.FunctionCall {
	fn, ok := goja.AssertFunction(call.Argument(at))
	if !ok {
		return call
	}
	made := float64(0)
	call.Arguments = slices.Clone(call.Arguments)
	call.Arguments[at] = r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		v, err := fn(c.This, c.Arguments...)
		if err != nil {
			panic(err)
		}
		s := r.textOrThrow(v)
		made += size(s)
		r.needText(made, "the replacement in a text")
		return s
	})
	return call
}

// replacedAll is like replaced, for replaceAll: goja lists all matches before it replaces the first.
func replacedAll(r *run, call goja.FunctionCall, f native) goja.Value {
	r.needGlobal(call, "replaceAll")
	if v, done := r.delegate(call, goja.SymReplace); done {
		return v
	}
	call, s := r.texts(call, 0)
	if s != nil {
		r.need(r.countParts(s, call.Argument(0))*2*elementSize, "the places of a text")
		if what, ok := call.Argument(0).(goja.String); ok && what.Length() == 0 {
			r.sweepRegExp()
			call.Arguments = slices.Concat([]goja.Value{r.sample(everyPlace)}, call.Arguments[min(1, len(call.Arguments)):])
			v, _ := r.delegate(call, goja.SymReplace)
			return v
		}
	}
	return replaced(r, call, f)
}

// everyPlace replaces an empty text in replaceAll: goja would never find its last place in a text that is not ASCII.
var everyPlace = goja.MustCompile("", "/(?:)/g", false)

// countParts returns about how many parts s has if it is split at a separator.
func (r *run) countParts(s goja.String, separator goja.Value) float64 {
	sep, ok := separator.(goja.String)
	switch {
	case !ok:
		return 1
	case sep.Length() == 0:
		return float64(s.Length())
	}
	r.product(float64(s.Length()) * float64(sep.Length()))
	return float64(strings.Count(s.String(), sep.String()))
}

// expandTemplate replaces the second argument, if it is a replacement that may become long, by a function that expands it.
func (r *run) expandTemplate(call goja.FunctionCall, s goja.String) goja.FunctionCall {
	if len(call.Arguments) > 1 && !callable(call.Arguments[1]) {
		call = r.argTexts(call, 1)
		template, ok := call.Arguments[1].(goja.String)
		if ok && (size(template)+1)*size(s)*2 > float64(r.limits.Memory) || ok && strings.Contains(text(template, 1<<20), "$") {
			e := &expander{r: r, template: template.String()}
			call.Arguments[1] = r.vm.ToValue(e.replace)
		}
	}
	return call
}

// An expander makes the replacement of each match, and counts all replacements.
type expander struct {
	r        *run
	template string
	made     float64
}

func (e *expander) replace(call goja.FunctionCall) goja.Value {
	e.r.check()
	args, groups := call.Arguments, (*goja.Object)(nil)
	if o, ok := args[len(args)-1].(*goja.Object); ok {
		args, groups = args[:len(args)-1], o
	}
	whole := args[len(args)-1].(goja.String)
	m := match{whole: whole, at: int(args[len(args)-2].ToInteger()), captures: args[:len(args)-2], groups: groups}
	var b goja.StringBuilder
	for rest := e.template; rest != ""; {
		plain, after, found := strings.Cut(rest, "$")
		e.count(float64(len(plain)))
		b.WriteUTF8String(plain)
		if !found {
			break
		}
		part, n := m.part(after)
		e.count(size(part))
		b.WriteString(part)
		rest = after[n:]
	}
	return b.String()
}

func (e *expander) count(n float64) {
	e.made += n
	e.r.needText(e.made, "the replacement in a text")
}

// A match has the values to which a replacement may refer.
type match struct {
	whole    goja.String
	at       int
	captures []goja.Value // the first is the whole match
	groups   *goja.Object
}

// part returns the text for a $ in a replacement, and how many bytes of after, which follows the $, belong to it.
func (m match) part(after string) (goja.String, int) {
	dollar := asString("$")
	if after == "" {
		return dollar, 0
	}
	all := m.captures[0].(goja.String)
	switch c := after[0]; {
	case c == '$':
		return dollar, 1
	case c == '&':
		return all, 1
	case c == '`':
		return m.whole.Substring(0, m.at), 1
	case c == '\'':
		return m.whole.Substring(min(m.at+all.Length(), m.whole.Length()), m.whole.Length()), 1
	case c >= '0' && c <= '9':
		for digits := min(2, len(after)); digits > 0; digits-- {
			if n, err := strconv.Atoi(after[:digits]); err == nil && n > 0 && n < len(m.captures) {
				return m.capture(m.captures[n]), digits
			}
		}
	case c == '<' && m.groups != nil:
		if end := strings.IndexByte(after, '>'); end > 0 {
			return m.capture(m.groups.Get(after[1:end])), end + 1
		}
	}
	return dollar, 0
}

func (m match) capture(v goja.Value) goja.String {
	if v == nil || goja.IsUndefined(v) {
		return asString("")
	}
	return toText(v)
}

func asString(s string) goja.String {
	var b goja.StringBuilder
	b.WriteUTF8String(s)
	return b.String()
}
