package javascript

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"metascript/engine"
)

// Math.random cannot be what its callers expect: a call has to answer the same when it is made again, for example in a resync, so that
// the numbers would have to be the same in each call, for each parent and in each cluster. It is an error, which a script cannot catch: what
// it would answer then is not what its author has tested.

// randomFault returns the error of Math.random.
func randomFault() *engine.Error {
	return &engine.Error{
		Kind: engine.KindRuntime, Msg: "Math.random is not supported: it would return the same numbers for each parent",
		Hint: `write random.password(name, secret, key), random.token or random.choice, of const {random} = require("metascript")`,
	}
}

// noRandom ends a call of Math.random.
func noRandom(r *run, _ goja.FunctionCall, _ native) goja.Value {
	r.refuse(randomFault())
	return nil
}

// usesOfRandom returns the offsets at which a file uses Math.random.
func usesOfRandom(parsed *ast.Program) (offsets []int) {
	if !strings.Contains(parsed.File.Source(), "random") {
		return nil
	}
	r := newReader(&outliner{})
	add := func(at file.Idx) {
		if len(offsets) < engine.MaxLookups {
			offsets = append(offsets, int(at)-parsed.File.Base())
		}
	}
	find := func(n ast.Node) bool {
		if of, key, _ := member(n); key == "random" && nameOf(of) == "Math" {
			add(n.Idx0())
		}
		if b, ok := n.(*ast.Binding); ok && nameOf(b.Initializer) == "Math" {
			if pattern, ok := b.Target.(*ast.ObjectPattern); ok && takesRandom(pattern) {
				add(b.Idx0())
			}
		}
		return true
	}
	for _, statement := range parsed.Body {
		v := reflect.ValueOf(statement)
		visit(v, 0, r.bind)
		visit(v, 0, find)
	}
	if r.bound["Math"] > 0 {
		return nil // it may be something else
	}
	return offsets
}

// takesRandom reports whether a pattern has the key random.
func takesRandom(pattern *ast.ObjectPattern) bool {
	for _, property := range pattern.Properties {
		switch p := property.(type) {
		case *ast.PropertyShort:
			if p.Name.Name == "random" {
				return true
			}
		case *ast.PropertyKeyed:
			if key, ok := p.Key.(*ast.StringLiteral); ok && key.Value == "random" {
				return true
			}
		}
	}
	return false
}

// warnOfRandom adds a warning for each use of Math.random in a file, as long as there are few.
func (r *run) warnOfRandom(name string, m *module) {
	for _, offset := range m.random {
		if len(r.p.warnings) >= engine.MaxLookups {
			return
		}
		fault := randomFault()
		fault.Pos = m.places(name)(offset)
		r.p.warnings = append(r.p.warnings, fault)
	}
}
