package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/fstest"
	"unsafe"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

func TestHookFits(t *testing.T) {
	if err := hookError(); err != nil {
		t.Fatal(err)
	}
}

// Any other layout of the interpreter's hook is noticed.
func TestHookLayout(t *testing.T) {
	type (
		pre  = func(unsafe.Pointer, ast.Node)
		post = func(unsafe.Pointer, ast.Node, value, error)
	)
	for _, theirs := range []any{
		struct{ pre pre }{},
		struct {
			pre  pre
			post post
			more int
		}{},
		struct {
			post post
			pre  pre
		}{},
		struct {
			before pre
			post   post
		}{},
		struct {
			pre  *int
			post post
		}{},
		struct {
			pre  func(unsafe.Pointer, ast.Node) bool
			post post
		}{},
		struct {
			pre  func(int, ast.Node)
			post post
		}{},
		struct {
			pre  pre
			post func(unsafe.Pointer, ast.Node, any, error)
		}{},
		struct {
			pre  pre
			post func(unsafe.Pointer, ast.Node, value, ...error)
		}{},
		5,
	} {
		if err := checkLayout(reflect.TypeOf(theirs), reflect.TypeFor[hook]()); err == nil {
			t.Errorf("%T passes for %T", theirs, gojsonnet.EvalHook{})
		}
	}
}

// Without the hook nothing compiles: nothing would bound it.
func TestNothingCompilesWithoutHook(t *testing.T) {
	defer func(f func() error) { hookError = f }(hookError)
	hookError = func() error { return errors.New("no hook") }
	s := engine.Script{Entry: "x.jsonnet", Files: fstest.MapFS{"x.jsonnet": {Data: []byte(`{ sync():: {} }`)}}}
	if _, err := New().Compile(context.Background(), s, engine.Limits{}); err == nil || err.Error() != "no hook" {
		t.Errorf("got %v", err)
	}
}

func TestCrash(t *testing.T) {
	g := guard{limits: engine.Limits{}.WithDefaults()}
	err := g.fault(fmt.Errorf("(CRASH) index out of range\ngoroutine 1 [running]:\n..."), function{})
	var e *engine.Error
	if !errors.As(err, &e) || e.Kind != engine.KindPanic || e.Msg != "the interpreter panicked: index out of range" {
		t.Errorf("got %v", err)
	}
}
