package javascript

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// Guards of functions that make text, or read much of it.

func repeated(r *run, call goja.FunctionCall, f native) goja.Value {
	call, s := r.texts(call)
	call, n := number(call, 0)
	if s != nil && n > 0 {
		r.needText(size(s)*n, "the string repetition")
		return times(s, int(n))
	}
	return f(call)
}

// times doubles, where goja appends n times.
func times(s goja.String, n int) goja.String {
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

// ofText bounds the text that a method is called on: times its size must be within the limit.
func ofText(times float64) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		call, s := r.texts(call)
		if s != nil {
			r.need(size(s)*times, "the conversion of a text")
		}
		return f(call)
	}
}

// onText is ofText for the first argument.
func onText(times float64) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		call = r.argTexts(call, 0)
		if s, ok := call.Argument(0).(goja.String); ok {
			r.need(size(s)*times, "the conversion of a text")
		}
		return f(call)
	}
}

func dateArgs(r *run, args []goja.Value) []goja.Value {
	if len(args) == 1 {
		if s, ok := args[0].(goja.String); ok {
			r.need(size(s)*1000, "the conversion of a text")
		}
	}
	return numberArgs(r, args)
}

func compared(r *run, call goja.FunctionCall, f native) goja.Value {
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

// method returns the method of that symbol, if v has one: then the function leaves all to it.
func method(v goja.Value, symbol *goja.Symbol) bool {
	o, ok := v.(*goja.Object)
	return ok && callable(o.GetSymbol(symbol))
}

// delegated has the method of that symbol do the work, if the first argument has one. It asks for it once: a getter may
// give it once and not again, and then goja would do the work itself, past the guard.
func (r *run) delegated(call goja.FunctionCall, symbol *goja.Symbol) (v goja.Value, done bool) {
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

// needGlobal throws for a regular expression that finds only one match, where all are wanted.
func (r *run) needGlobal(call goja.FunctionCall, function string) {
	if o, ok := call.Argument(0).(*goja.Object); ok && o.ClassName() == "RegExp" {
		if !strings.Contains(text(r.textOrThrow(orUndefined(o.Get("flags"))), 100), "g") {
			panic(r.vm.NewTypeError("String.prototype." + function + " needs a RegExp with the flag g"))
		}
	}
}

func split(r *run, call goja.FunctionCall, f native) goja.Value {
	if v, done := r.delegated(call, goja.SymSplit); done {
		return v
	}
	call, s := r.texts(call, 0)
	if s != nil {
		r.need(r.pieces(s, call.Argument(0))*2*elementSize, "the splitting of a text")
	}
	return f(call)
}

// raw is String.raw, counting.
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

// A textWriter makes a text of parts, and counts before it copies.
type textWriter struct {
	r     *run
	what  string // for the message when it is too long
	b     goja.StringBuilder
	total float64
}

func (w *textWriter) write(s goja.String) {
	w.r.check()
	w.total += size(s)
	w.r.needText(w.total, w.what)
	w.b.WriteString(s)
}

// replaced bounds what a replacement makes: a short text in place of each match, or what a function returns, or, where
// it may be much, what expand computes step by step.
func replaced(r *run, call goja.FunctionCall, f native) goja.Value {
	if v, done := r.delegated(call, goja.SymReplace); done { // of a regular expression: see matched
		return v
	}
	call, s := r.texts(call, 0)
	if s != nil {
		if what, ok := call.Argument(0).(goja.String); ok {
			r.product(float64(s.Length()) * float64(what.Length()))
		}
		call = r.expansion(call, s)
	}
	return f(r.counted(call, 1))
}

// counted counts what a function gives that replaces matches in a text.
func (r *run) counted(call goja.FunctionCall, at int) goja.FunctionCall {
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

// replacedAll is replaced where a text is looked for all over: goja lists all places before it replaces the first.
func replacedAll(r *run, call goja.FunctionCall, f native) goja.Value {
	r.needGlobal(call, "replaceAll")
	if v, done := r.delegated(call, goja.SymReplace); done {
		return v
	}
	call, s := r.texts(call, 0)
	if s != nil {
		r.need(r.pieces(s, call.Argument(0))*2*elementSize, "the places of a text")
	}
	return replaced(r, call, f)
}

// pieces is in how many parts a separator cuts s, roughly.
func (r *run) pieces(s goja.String, separator goja.Value) float64 {
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

// expansion makes a function of a replacement that may become long.
func (r *run) expansion(call goja.FunctionCall, s goja.String) goja.FunctionCall {
	if len(call.Arguments) > 1 && !callable(call.Arguments[1]) {
		call = r.argTexts(call, 1)
		with, ok := call.Arguments[1].(goja.String)
		if ok && (size(with)+1)*size(s)*2 > float64(r.limits.Memory) || ok && strings.Contains(text(with, 1<<20), "$") {
			e := &expander{r: r, template: with.String()}
			call.Arguments[1] = r.vm.ToValue(e.replace)
		}
	}
	return call
}

// An expander makes the text that stands for a match, and counts what it made.
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

// A match is what a replacement may refer to.
type match struct {
	whole    goja.String
	at       int
	captures []goja.Value // the first is all of the match
	groups   *goja.Object
}

// part returns what stands for a dollar and what follows it, and how many bytes of that it takes.
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
