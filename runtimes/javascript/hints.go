package javascript

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// Hints for errors that goja throws while a script runs.

// A failure is an error that goja threw, with the source around the place where it was thrown.
type failure struct {
	*engine.Error
	m            *module
	at           int // the offset in m
	before, from string
}

// failure returns the error of a stack, or nil if no script is in it.
func (r *run) failure(e *engine.Error, stack []goja.StackFrame) *failure {
	for _, call := range stack {
		at := call.Position()
		if loaded, ok := r.p.modules.Load(at.Filename); ok {
			m := loaded.(*module)
			offset := m.offset(at)
			return &failure{e, m, offset, m.src[:offset], m.src[offset:]}
		}
	}
	return nil
}

// explain sets the message and the hint of an error with the name and the message of goja.
func (r *run) explain(f *failure, name, message string) {
	if undefined, ok := strings.CutSuffix(message, " is not defined"); ok && name == "ReferenceError" {
		f.moveBefore(undefined)
		f.Hint = cmp.Or(f.Hint, f.ofRequest(undefined), naming.DidYouMean(undefined, append(mistakes().Visible(f.m.src, f.at), r.globals()...)), host.NoSuchName)
		return
	}
	if name != "TypeError" {
		return
	}
	f.Hint = cmp.Or(r.missedField(f, message), f.Hint)
	if strings.HasPrefix(message, "Assignment to constant") && conditionStart.MatchString(f.before[max(0, len(f.before)-maxExpression):]) {
		f.Hint = "= assigns: write === to compare"
	}
	if callee := f.callee(message); callee != "" {
		f.Msg = "TypeError: " + callee + " is not a function"
		member := callee[strings.LastIndexByte(callee, '.')+1:]
		f.moveBefore(member)
		f.Hint = cmp.Or(otherMethods[member], r.warned(f.Pos), r.similarMember(f, callee, member), f.Hint)
	}
}

// conditionStart matches the source before a condition.
var conditionStart = regexp.MustCompile(`\b(?:if|while)\s*\(\s*$`)

// ofRequest returns a hint for a name of the request that a helper function uses without a parameter of that name, or "".
func (f *failure) ofRequest(name string) string {
	if n := len(f.Trace); n > 1 && slices.Contains([]string{"parent", "children", "related", "object", "attachments"}, name) {
		return fmt.Sprintf("a helper function does not see the request: pass %s to %s", name, f.Trace[0].Func)
	}
	return ""
}

// warned returns the hint of the warning at a place, or "".
func (r *run) warned(at engine.Pos) string {
	for _, w := range r.p.warnings {
		if w.Pos == at {
			return w.Hint
		}
	}
	return ""
}

// moveBefore moves the position from the bracket of a call to the name before it.
func (f *failure) moveBefore(name string) {
	if strings.HasPrefix(f.from, "(") && strings.HasSuffix(f.before, name) {
		f.Pos = f.m.places(f.Pos.File)(f.at - len(name))
		if len(f.Trace) > 0 {
			f.Trace[0].Pos = f.Pos
		}
	}
}

// globals lists the names of the language.
func (r *run) globals() (names []string) {
	_ = r.vm.Try(func() { names = r.vm.GlobalObject().GetOwnPropertyNames() })
	return names
}

var calleeText = regexp.MustCompile(`[\w$][\w$.?'"\[\]]{0,100}$`)

// callee returns the text of the called expression if the call failed because it is no function: goja then says that there is no
// such member, or no object.
func (f *failure) callee(message string) string {
	for _, start := range []string{"Object has no member", "Value is not an object", "Dynamic object is not callable"} {
		if strings.HasPrefix(message, start) && strings.HasPrefix(f.from, "(") {
			return expressionBefore(f.before)
		}
		if strings.HasPrefix(message, start) && f.m.from != nil {
			return leadingName.FindString(f.from) // the places of esbuild are those of names
		}
	}
	return ""
}

// leadingName matches a name at the beginning of a text.
var leadingName = regexp.MustCompile(`^[\w$]+`)

// maxExpression is how many bytes before an error are read.
const maxExpression = 1 << 10

// expressionBefore returns the end of a text if it is an expression such as a.b["c"].
func expressionBefore(text string) string {
	text = text[max(0, len(text)-maxExpression):]
	expression := calleeText.FindString(text)
	if strings.Count(expression, `"`)%2+strings.Count(expression, "'")%2 > 0 { // only the end of a string
		return leadingName.FindString(expression[strings.LastIndexByte(expression, '.')+1:])
	}
	return expression
}

// builtinMembers has the members of the values that scripts often have.
const builtinMembers = `at concat copyWithin endsWith entries every fill filter find findIndex findLast flat flatMap forEach getDate getFullYear
	getHours getMinutes getMonth getSeconds getTime includes indexOf join keys lastIndexOf localeCompare map match matchAll padEnd padStart
	pop push reduce reduceRight repeat replace replaceAll reverse search shift slice some sort splice split startsWith substring test
	toFixed toISOString toLowerCase toSorted toString toUpperCase trim trimEnd trimStart unshift values add clear delete get has set`

// loops are the members of arrays that people also try on objects.
var loops = []string{"every", "filter", "find", "flatMap", "forEach", "map", "reduce", "some"}

// words matches words of a source text, among them the names of members.
var words = regexp.MustCompile(`[\w$]+`)

// maxMembers is how many words of a file are looked at for a hint.
const maxMembers = 1000

// similarMember returns a hint for a function that an object does not have.
func (r *run) similarMember(f *failure, callee, member string) string {
	if callee == member && !strings.HasSuffix(f.before, "."+callee) {
		return "its value is not a function: does a variable have the name of a function?"
	}
	object := strings.TrimSuffix(callee, "."+member)
	if slices.Contains(r.globals(), object) {
		var names []string
		_ = r.vm.Try(func() {
			if o, ok := r.vm.GlobalObject().Get(object).(*goja.Object); ok {
				names = o.GetOwnPropertyNames()
			}
		})
		return naming.DidYouMean(member, names)
	}
	if slices.Contains(loops, member) {
		return fmt.Sprintf("the value is not an array: for an object write Object.values(x).%s(…)", member)
	}
	names := strings.Fields(builtinMembers)
	for _, e := range r.exports {
		if o, ok := e.value.(*goja.Object); ok {
			names = append(names, functions(o)...)
		}
	}
	return cmp.Or(naming.DidYouMean(member, append(names, words.FindAllString(f.m.src, maxMembers)...)), "this value has no function of that name")
}

// maxMissed is how many fields of the request that do not exist are remembered.
const maxMissed = 64

// miss remembers that a script has read a field that does not exist.
func (r *run) miss(m *mapView, key string) {
	if m.isGroups() {
		r.missed, r.missedKey = m, key
		return
	}
	if r.missedFields == nil {
		r.missedFields = map[string]*mapView{}
	}
	if len(r.missedFields) < maxMissed {
		r.missedFields[key] = m
	}
}

// missedField returns a hint if an error is about a field that the request does not have; "" otherwise.
func (r *run) missedField(f *failure, message string) string {
	if strings.HasPrefix(message, "Cannot convert") { // an argument
		arguments, _, _ := strings.Cut(f.from[:min(len(f.from), maxText)], ")")
		for _, key := range words.FindAllString(arguments, -1) {
			if m := r.missedFields[key]; m != nil {
				return m.undefined(key, "")
			}
		}
		return ""
	}
	expression := expressionBefore(strings.TrimRight(strings.TrimRight(strings.TrimRight(f.before, "["), "."), "?"))
	segments := words.FindAllString(expression, -1)
	key := leadingName.FindString(f.from)
	if r.missedFields[key] == nil && len(segments) > 0 {
		key = segments[len(segments)-1]
	}
	m := r.missedFields[key]
	if m == nil {
		return r.missedVariable(f, expression)
	}
	variable := ""
	if len(segments) > 1 {
		variable = segments[0]
	}
	return m.undefined(key, variable)
}

// missedVariable is missedField for a variable to which the field was assigned.
func (r *run) missedVariable(f *failure, variable string) string {
	if !naming.Identifier(variable) {
		return ""
	}
	assigned := regexp.MustCompile(`\b` + regexp.QuoteMeta(variable) + `\s*=[^=\n;]*?([\w$]+)\s*(?:;|\n|$)`)
	for _, match := range assigned.FindAllStringSubmatch(f.before, -1) {
		if m := r.missedFields[match[1]]; m != nil {
			return m.undefined(match[1], "")
		}
	}
	return ""
}

// undefined returns a hint for a key that m does not have. The script reads it from variable, if that is not empty.
func (m *mapView) undefined(key, variable string) string {
	path, keys := m.String(), keysOfMap(m.base)
	field := naming.Field(path, key) + " is undefined: "
	switch nearest := host.Nearest(key, keys); {
	case m.up != nil && nearest != "":
		return field + "did you mean " + naming.Field(path, nearest) + "?"
	case m.up == nil && host.SimilarField(key, keys) != "":
		return fmt.Sprintf("the request has no %s: did you mean %s?", key, host.SimilarField(key, keys))
	case m.up == nil && slices.Contains(keys, variable):
		return fmt.Sprintf("%s is the whole request here: write {%[1]s} for the parameter, with braces", variable)
	case m.up == nil:
		return fmt.Sprintf("the request has no %s: its fields are %s", key, naming.List(keys))
	}
	return field + "use ?. where a field may be missing"
}
