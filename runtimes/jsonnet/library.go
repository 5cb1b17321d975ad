package jsonnet

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/scripts/lib"
)

// libraryFile is the name by which a script imports the library, unless it has a file of that name itself.
const libraryFile = "metascript.libsonnet"

// library is the tree of that file. It is an object of functions like
//
//	decode(text):: std.native(['yaml.decode', text])
//
// so that the interpreter binds the parameters. What std.native does with a list is called, below.
var library = sync.OnceValue(func() ast.Node {
	var b strings.Builder
	for _, group := range lib.Groups() {
		if group.Name != "" {
			fmt.Fprintf(&b, "%s:: {\n", group.Name)
		}
		for _, f := range group.Functions {
			b.WriteString(definition(f))
		}
		if group.Name != "" {
			b.WriteString("},\n")
		}
	}
	return withStd("", mustParse("{\n"+b.String()+"}"))
})

// definition returns the field of the library for f.
func definition(f *lib.Function) string {
	var params, args []string
	for _, p := range f.Params {
		args = append(args, p.Name)
		if p.Optional {
			params = append(params, p.Name+"=null")
		} else {
			params = append(params, p.Name)
		}
	}
	_, name := f.Group()
	return fmt.Sprintf("%s(%s):: std.native(['%s', %s]),\n", name, strings.Join(params, ", "), f.Name, strings.Join(args, ", "))
}

// functions are the functions of the library, by name.
var functions = sync.OnceValue(func() map[string]*lib.Function {
	m := map[string]*lib.Function{}
	for _, f := range lib.Functions() {
		m[f.Name] = f
	}
	return m
})

// callLibrary implements std.native for a list: the name of a function of the library, and its arguments.
func callLibrary(o *operation) (value, error, bool) {
	list, _ := arrayOf(o.args[0])
	if len(list) == 0 {
		return nil, nil, false
	}
	name, err := o.element(list[0], 0)
	if err != nil {
		return nil, err, true
	}
	f := functions()[string(runesOf(name))]
	if f == nil || len(list)-1 != len(f.Params) {
		return nil, nil, false
	}
	args := make([]any, len(f.Params))
	for i, p := range f.Params {
		if args[i], err = o.data(list[i+1], f.Name+": "+p.Name); err != nil {
			return nil, err, true
		}
	}
	return o.result(f, args)
}

// result returns the result of a function of the library.
func (o *operation) result(f *lib.Function, args []any) (value, error, bool) {
	result, err := f.Call(args, meter{o})
	if err != nil {
		return nil, o.scriptError(err), true
	}
	v, err := evaluated(o.request.node(result, &place{whole: "the result of " + f.Name}), o.i)
	return v, err, true
}

// parse returns the check of a function of std that the library has.
func parse(f *lib.Function) check {
	return func(o *operation) (value, error, bool) {
		if !isString(o.args[0]) {
			return nil, nil, false // the interpreter reports it
		}
		checkParse(o)
		return o.result(f, []any{string(runesOf(o.args[0]))})
	}
}

// data returns the JSON-shaped value of an argument; what is its name in messages.
func (o *operation) data(t *thunk, what string) (any, error) {
	v, err := o.element(t, 0)
	if err != nil {
		return nil, err
	}
	out := outcome{Walk: engine.NewArgument(what, lib.MaxDepth, o.limits), guard: o.guard, i: o.i, argument: true}
	data, err := out.convert(v)
	var fault *engine.Error
	if errors.As(err, &fault) {
		return nil, o.scriptError(fault)
	}
	return data, err
}

// scriptError converts an error of the library or of this package to an error of the interpreter, which has a position.
func (o *operation) scriptError(err error) error {
	fault := host.LibraryError(err)
	if fault == nil && !errors.As(err, &fault) {
		return err
	}
	o.guard.libraryError = fault
	return raise(o.i, o.guard.libraryError.Msg)
}

// A meter limits the library's functions.
type meter struct{ o *operation }

// Spend implements [lib.Meter].
func (m meter) Spend(steps int64) error {
	m.o.charge(steps)
	return nil
}

// Random implements [lib.Drawer].
func (m meter) Random() *engine.Random { return m.o.guard.random }

// CheckSize implements [lib.Meter].
func (m meter) CheckSize(bytes int64, what string) error {
	m.o.what = what
	m.o.size(float64(bytes))
	return nil
}
