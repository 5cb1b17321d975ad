package javascript

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/engine/jsonescapes"
)

// JSON.parse and JSON.stringify with limits: goja's own functions recurse as deeply as the data is nested.

// maxJSON is how deeply JSON text may be nested.
const maxJSON = 500

func parsedJSON(r *run, call goja.FunctionCall, f native) goja.Value {
	call = r.argTexts(call, 0)
	if s, ok := call.Argument(0).(goja.String); ok {
		r.needText(size(s), "the JSON text")
		text := s.String()
		r.weigh(text)
		if jsonescapes.Lone(text) >= 0 || strings.ContainsRune(text, utf8.RuneError) && !wellFormed(s) {
			panic(r.syntaxError(&engine.Error{
				Kind: engine.KindRuntime, Msg: "SyntaxError: the JSON text has half of a surrogate pair, for example \\ud83d without \\ude00",
			}))
		}
	}
	reviver, ok := goja.AssertFunction(call.Argument(1))
	if !ok {
		return f(call)
	}
	call.Arguments = call.Arguments[:1]
	root := r.vm.NewObject()
	_ = root.Set("", f(call))
	return r.revive(reviver, root, "")
}

// wellFormed reports whether a text has no half of a surrogate pair.
func wellFormed(s goja.String) bool {
	for i := range s.Length() {
		if lone(s, i) {
			return false
		}
	}
	return true
}

// lone reports whether the code unit at a place is half of a surrogate pair.
func lone(s goja.String, i int) bool {
	c := rune(s.CharAt(i))
	switch {
	case !utf16.IsSurrogate(c):
		return false
	case c < 0xdc00:
		return i+1 == s.Length() || utf16.DecodeRune(c, rune(s.CharAt(i+1))) == utf8.RuneError
	}
	return i == 0 || utf16.DecodeRune(rune(s.CharAt(i-1)), c) == utf8.RuneError
}

// weigh refuses JSON text whose values would be too large or nested too deeply.
func (r *run) weigh(text string) {
	depth, bytes, quoted := 0, float64(len(text)), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			bytes += 256
			if depth > maxJSON {
				r.tooDeep()
			}
		case c == ']' || c == '}':
			depth--
		case c == ',':
			bytes += 48
		}
	}
	r.need(bytes, "the value of the JSON text")
}

func (r *run) tooDeep() {
	r.refuse(&engine.Error{
		Kind: engine.KindStack, Msg: fmt.Sprintf("JSON is nested deeper than %d levels", maxJSON),
		Hint: "does a value contain itself?",
	})
}

// revive passes every value that JSON.parse made to the script's function, innermost first.
func (r *run) revive(reviver goja.Callable, holder *goja.Object, key string) goja.Value {
	r.begin()
	defer r.end()
	if o, ok := holder.Get(key).(*goja.Object); ok {
		var keys []string
		if kindOfObject(o) == "an array" {
			for i := range r.lengthOf(o, "the array") {
				keys = append(keys, strconv.Itoa(i))
			}
		} else {
			keys = keysOf(o)
		}
		for _, k := range keys {
			v := r.revive(reviver, o, k)
			if goja.IsUndefined(v) {
				_ = o.Delete(k)
			} else {
				_ = o.Set(k, v)
			}
		}
	}
	value := holder.Get(key)
	if value == nil {
		value = goja.Undefined()
	}
	v, err := reviver(holder, r.vm.ToValue(key), value)
	if err != nil {
		panic(err)
	}
	return v
}

// A jsonWriter is one run of JSON.stringify.
type jsonWriter struct {
	r        *run
	b        bytes.Buffer
	replacer goja.Callable
	keys     []string // what an array as the replacer allows, nil without one
	indent   string
	open     []*goja.Object
}

func stringified(r *run, call goja.FunctionCall, _ native) goja.Value {
	w := &jsonWriter{r: r}
	if o, ok := call.Argument(1).(*goja.Object); ok {
		if f, ok := goja.AssertFunction(o); ok {
			w.replacer = f
		} else if kindOfObject(o) == "an array" {
			w.allow(o)
		}
	}
	w.indent = r.indentation(call.Argument(2))
	holder := goja.Value(goja.Undefined())
	if w.replacer != nil {
		o := r.vm.NewObject()
		_ = o.Set("", call.Argument(0))
		holder = o
	}
	if !w.value(holder, "", call.Argument(0)) {
		return goja.Undefined()
	}
	return r.vm.ToValue(w.b.String())
}

func (w *jsonWriter) allow(o *goja.Object) {
	w.keys = []string{}
	seen := map[string]bool{}
	for i := range w.r.lengthOf(o, "the array") {
		w.r.check() // the texts may be long
		if s := w.r.text(o.Get(strconv.Itoa(i))); s != nil && !seen[s.String()] {
			seen[s.String()] = true
			w.keys = append(w.keys, s.String())
		}
	}
}

func (r *run) indentation(v goja.Value) string {
	if o, ok := v.(*goja.Object); ok {
		if c := o.ClassName(); c == "Number" || c == "String" {
			v = o.ToString()
		}
	}
	switch v := v.(type) {
	case goja.String:
		return text(v.Substring(0, min(10, v.Length())), 100)
	default:
		if kind(v) == "a number" {
			return strings.Repeat(" ", int(max(0, min(10, v.ToInteger()))))
		}
	}
	return ""
}

// value writes the value at key of holder, and reports whether JSON has such a value.
func (w *jsonWriter) value(holder goja.Value, key string, v goja.Value) bool {
	w.r.begin()
	defer w.r.end()
	v = w.converted(holder, key, v)
	if o, ok := v.(*goja.Object); ok {
		switch what := kindOfObject(o); what {
		case "a function":
			return false
		case "an array":
			w.array(o)
			return true
		case "a Number", "a String", "a Boolean":
			v = w.r.unboxed(o, what)
		default:
			w.object(o)
			return true
		}
	}
	return w.scalar(v)
}

// converted applies toJSON and the replacer.
func (w *jsonWriter) converted(holder goja.Value, key string, v goja.Value) goja.Value {
	call := func(f goja.Callable, this goja.Value, args ...goja.Value) {
		var err error
		if v, err = f(this, args...); err != nil {
			panic(err)
		}
	}
	if o, ok := v.(*goja.Object); ok {
		if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
			call(f, o, w.r.vm.ToValue(key))
		}
	}
	if w.replacer != nil {
		call(w.replacer, holder, w.r.vm.ToValue(key), v)
	}
	return v
}

func (r *run) unboxed(o *goja.Object, what string) goja.Value {
	switch what {
	case "a Number":
		return o.ToNumber()
	case "a String":
		return o.ToString()
	}
	return r.vm.ToValue(o.Export())
}

func (w *jsonWriter) scalar(v goja.Value) bool {
	switch what := kind(v); what {
	case "a string":
		s := v.(goja.String)
		w.need(size(s))
		w.quoteText(s)
	case "a number":
		if f := v.ToFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			w.b.WriteString("null")
		} else {
			w.b.WriteString(v.String())
		}
	case "null", "a boolean":
		w.b.WriteString(v.String())
	default:
		return false
	}
	return true
}

func (w *jsonWriter) need(more float64) { w.r.needText(float64(w.b.Len())+more, "JSON.stringify") }

// enter records that o is being written.
func (w *jsonWriter) enter(o *goja.Object) {
	for _, outer := range w.open {
		if outer == o {
			panic(w.r.vm.NewTypeError("Converting circular structure to JSON"))
		}
	}
	if len(w.open) >= maxJSON {
		w.r.tooDeep()
	}
	w.open = append(w.open, o)
}

func (w *jsonWriter) leave() { w.open = w.open[:len(w.open)-1] }

func (w *jsonWriter) array(o *goja.Object) {
	w.enter(o)
	defer w.leave()
	n := w.r.lengthOf(o, "the array")
	w.b.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.newline(len(w.open))
		if !w.value(o, strconv.Itoa(i), element(o, i)) {
			w.b.WriteString("null")
		}
		w.need(0)
	}
	if n > 0 {
		w.newline(len(w.open) - 1)
	}
	w.b.WriteByte(']')
}

func (w *jsonWriter) object(o *goja.Object) {
	w.enter(o)
	defer w.leave()
	keys := w.keys
	if keys == nil {
		keys = keysOf(o)
	}
	w.b.WriteByte('{')
	any := false
	for _, key := range keys {
		v := o.Get(key)
		if v == nil {
			if w.keys == nil && strings.ContainsRune(key, utf8.RuneError) {
				panic(w.r.vm.NewTypeError("the name of a property has half of a surrogate pair"))
			}
			continue
		}
		before := w.b.Len()
		if any {
			w.b.WriteByte(',')
		}
		w.newline(len(w.open))
		w.need(float64(len(key)))
		w.quote(key)
		w.b.WriteByte(':')
		if w.indent != "" {
			w.b.WriteByte(' ')
		}
		if w.value(o, key, v) {
			any = true
		} else {
			w.b.Truncate(before) // it is a value that JSON does not have
		}
		w.need(0)
	}
	if any {
		w.newline(len(w.open) - 1)
	}
	w.b.WriteByte('}')
}

func (w *jsonWriter) newline(depth int) {
	if w.indent != "" {
		w.b.WriteByte('\n')
		for range depth {
			w.b.WriteString(w.indent)
		}
	}
}

func (w *jsonWriter) quote(s string) {
	w.b.WriteByte('"')
	w.characters(s)
	w.b.WriteByte('"')
}

// quoteText is quote for a text, which may have halves of surrogate pairs: these are escaped.
func (w *jsonWriter) quoteText(s goja.String) {
	text := s.String()
	if !strings.ContainsRune(text, utf8.RuneError) {
		w.quote(text)
		return
	}
	w.b.WriteByte('"')
	from := 0
	for i := range s.Length() {
		if lone(s, i) {
			w.characters(s.Substring(from, i).String())
			fmt.Fprintf(&w.b, `\u%04x`, s.CharAt(i))
			from = i + 1
		}
	}
	w.characters(s.Substring(from, s.Length()).String())
	w.b.WriteByte('"')
	w.need(0)
}

// characters writes the characters of a text.
func (w *jsonWriter) characters(s string) {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' || c >= utf8.RuneSelf {
			continue
		}
		w.b.WriteString(s[from:i])
		w.need(float64(len(s) - i)) // what stands for c is up to six times as long
		from = i + 1
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			w.b.WriteByte('\\')
			w.b.WriteByte(`"\bfnrt`[at])
		} else {
			w.b.WriteString(`\u00`)
			w.b.WriteByte(hex[c>>4])
			w.b.WriteByte(hex[c&15])
		}
	}
	w.b.WriteString(s[from:])
}
