package jsonnet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"unsafe"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// VM.Evaluate makes an interpreter for each evaluation, and evaluates std for it, which takes longer than a small function. So this
// package makes interpreters as copies of one that is ready. They share the fields of std, which do not change, but not the values
// that an interpreter keeps of them.

// template is the interpreter that others are copies of, and what is known about its type.
var template struct {
	theirs    reflect.Type
	ready     interpreter
	std       *simpleLayers
	stack     reflect.StructField
	hook      uintptr // the offsets of fields of an interpreter
	imports   uintptr
	vmImports uintptr // the offset of the import cache in a VM
}

//go:linkname evaluateAux github.com/google/go-jsonnet.evaluateAux
func evaluateAux(i interpreter, n ast.Node, noArguments unsafe.Pointer) (value, error)

// prepareTemplate sets template, after the functions of std have been wrapped.
func prepareTemplate() error {
	t := reflect.TypeFor[gojsonnet.EvalHook]().Field(0).Type.In(0).Elem()
	stack, ok := t.FieldByName("stack")
	hooks, also := t.FieldByName("evalHook")
	imports, too := t.FieldByName("importCache")
	vmImports, inVM := reflect.TypeFor[gojsonnet.VM]().FieldByName("importCache")
	if !ok || !also || !too || !inVM || hooks.Type != reflect.TypeFor[gojsonnet.EvalHook]() || imports.Type != vmImports.Type {
		return errors.New("jsonnet: scripts cannot be bounded: this version of go-jsonnet has another interpreter")
	}
	template.theirs, template.stack = t, stack
	template.hook, template.imports, template.vmImports = hooks.Offset, imports.Offset, vmImports.Offset
	vm := gojsonnet.MakeVM()
	hook{pre: func(i interpreter, _ ast.Node) { template.ready = i }, post: func(interpreter, ast.Node, value, error) {}}.install(vm)
	if _, err := vm.Evaluate(&ast.LiteralNull{}); err != nil {
		return err
	}
	std := *baseStd(template.ready)
	w := layerWords(std.uncached)
	if w.typ != layout.simple {
		return errors.New("jsonnet: scripts cannot be bounded: std is made in another way")
	}
	template.std = (*simpleLayers)(w.data)
	if len(template.std.upValues) != 1 || template.std.upValues["$std"] == nil {
		return errors.New("jsonnet: scripts cannot be bounded: std has other variables")
	}
	return nil
}

// baseStd returns where an interpreter keeps std.
func baseStd(i interpreter) **objectValue { return (**objectValue)(unsafe.Add(i, layout.baseStd)) }

// newInterpreter returns an interpreter for one evaluation. data has the files of importstr and importbin; all other imports are
// variables.
func newInterpreter(h hook, log io.Writer, maxStack int, data map[string]gojsonnet.Contents) interpreter {
	made := reflect.New(template.theirs)
	made.Elem().Set(reflect.NewAt(template.theirs, template.ready).Elem())
	i := made.UnsafePointer()
	reflect.NewAt(template.stack.Type, unsafe.Add(i, template.stack.Offset)).Elem().SetZero()
	*(*int)(unsafe.Add(i, layout.limit)) = maxStack
	*(*io.Writer)(unsafe.Add(i, layout.traceOut)) = log
	*(*hook)(unsafe.Add(i, template.hook)) = h
	imports := (*unsafe.Pointer)(unsafe.Add(i, template.imports))
	if *imports = nil; len(data) > 0 {
		vm := gojsonnet.MakeVM()
		vm.Importer(&gojsonnet.MemoryImporter{Data: data})
		*imports = *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(vm), template.vmImports))
	}
	own := *template.std
	v := newObject(&own)
	own.upValues = bindings{"$std": {content: v}}
	*baseStd(i) = (*objectValue)(wordsOf(v).data)
	return i
}

// evaluateNode is like VM.Evaluate, without the conversion of the value to JSON. A panic becomes an error of the same form.
func evaluateNode(i interpreter, n ast.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("(CRASH) %v\n%s", r, debug.Stack())
		}
	}()
	_, err = evaluateAux(i, n, nil)
	return err
}
