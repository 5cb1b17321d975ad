package jsonnet

import (
	"math"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet/ast"
)

// The interpreter's formatting is written in Jsonnet, and 'pod-%d' % i takes as long as the rest of a small function. So the
// operator % calls std.modulo instead of std.mod (useFastFormat). Its check handles the simple cases, and passes the others on to
// std.mod.

// useFastFormat makes n call std.modulo if it is an operator %. It does not change a script's own std.mod.
func useFastFormat(n *ast.Apply) {
	target, ok := n.Target.(*ast.Index)
	if !ok {
		return
	}
	v, ok := target.Target.(*ast.Var)
	name, also := target.Index.(*ast.LiteralString)
	if ok && also && v.Id == std && name.Value == "mod" {
		fast := *target
		fast.Index = stringNode("modulo")
		n.Target = &fast
	}
}

// modulo implements the operator %, and std.modulo.
func modulo(o *operation) (value, error, bool) {
	if !isString(o.args[0]) && scalar(o.args[0]) && scalar(o.args[1]) {
		return nil, nil, false
	}
	if isString(o.args[0]) && length(o.args[0]) < maxPlain {
		if text, ok := o.plain(string(runesOf(o.args[0])), o.args[1]); ok {
			return newString(text), nil, true
		}
	}
	f, err := fieldOf(*baseStd(o.i), o.i, "mod")
	if err != nil {
		return nil, err, true
	}
	_, mod := kindOf(f)
	v, err := callFunction(mod, o.i, callArguments{positional: []*thunk{{content: o.args[0]}, {content: o.args[1]}}})
	return v, err, true
}

// maxPlain is the maximum length of a format that plain handles.
const maxPlain = 1000

// plain formats a text that has only %s of strings and integers, %d of integers, and %%.
func (o *operation) plain(text string, arg value) (string, bool) {
	args, ok := arrayOf(arg)
	if !ok {
		args = []*thunk{{content: arg}}
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			return b.String(), len(args) == 0
		}
		if after == "" {
			return "", false
		}
		text = after[1:]
		if after[0] == '%' {
			b.WriteByte('%')
			continue
		}
		if len(args) == 0 || args[0].content == nil || !writePlain(&b, after[0], args[0].content) {
			return "", false
		}
		args = args[1:]
	}
}

// writePlain writes v as %s or %d do.
func writePlain(b *strings.Builder, verb byte, v value) bool {
	switch k, p := kindOf(v); {
	case verb == 's' && isString(v) && length(v) < maxPlain:
		b.WriteString(string(runesOf(v)))
		return true
	case k == numberKind && (verb == 's' || verb == 'd'):
		f := (*numberValue)(p).value
		if f != math.Trunc(f) || math.Abs(f) > maxExact || f == 0 && math.Signbit(f) {
			return false
		}
		b.WriteString(strconv.FormatInt(int64(f), 10))
		return true
	}
	return false
}
