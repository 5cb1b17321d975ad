package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

func TestHookWorks(t *testing.T) {
	if err := hookError(); err != nil {
		t.Fatal(err)
	}
}

// Every other layout of the interpreter's hook is detected.
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
			t.Errorf("%T was accepted as %T", theirs, gojsonnet.EvalHook{})
		}
	}
}

// Every other layout of the interpreter's values is detected, also if two fields of the same type are swapped.
func TestValueLayout(t *testing.T) {
	type ours struct {
		left, right value
		runes       []rune
		data        unsafe.Pointer
		call        func(int) error
		_           int
	}
	_ = ours{left: nil, right: nil, runes: nil, data: nil, call: nil} // only its layout is read
	for _, c := range []struct {
		theirs any
		same   bool
	}{
		{ours{}, true},
		{struct {
			left, right interface{ other() }
			runes       []int32
			data        *int
			call        func(string) error
			count       int
		}{}, true},
		{struct {
			base        struct{}
			left, right value
			runes       []rune
			data        map[string]int
			call        func(int) error
			_           int
		}{}, true},
		{struct {
			right, left value
			runes       []rune
			data        unsafe.Pointer
			call        func(int) error
			_           int
		}{}, false},
		{struct {
			left, right any
			runes       []rune
			data        *int
			call        func(int) error
			_           int
		}{}, false},
		{struct {
			left, right value
			text        []rune
			data        *int
			call        func(int) error
			_           int
		}{}, false},
		{struct {
			left, right value
			runes       []byte
			data        *int
			call        func(int) error
			_           int
		}{}, false},
		{struct {
			left, right value
			runes       []rune
			data        *int
			call        func(int, int) error
			_           int
		}{}, false},
		{struct {
			left, right value
			runes       []rune
			data        *int
			call        func(int) error
			_           uint
		}{}, false},
		{struct {
			left, right value
			runes       []rune
			data        *int
			call        func(int) error
			_, more     int
		}{}, false},
		{5, false},
	} {
		if err := checkShape(reflect.TypeOf(c.theirs), reflect.TypeFor[ours]()); (err == nil) != c.same {
			t.Errorf("%T: got %v", c.theirs, err)
		}
	}
	for _, theirs := range []any{new(interface{ other() }), new(interface{ evalCall() }), new(interface{ evalCall(int) })} {
		if err := checkCall(reflect.TypeOf(theirs).Elem()); err == nil {
			t.Errorf("%T was accepted as the arguments of a call", theirs)
		}
	}
}

// Without the hook no script compiles, since nothing would limit it.
func TestNothingCompilesWithoutHook(t *testing.T) {
	defer func(f func() error) { hookError = f }(hookError)
	hookError = func() error { return errors.New("no hook") }
	s := engine.Script{Entry: "x.jsonnet", Files: fstest.MapFS{"x.jsonnet": {Data: []byte(`{ sync():: {} }`)}}}
	if _, err := New().Compile(context.Background(), s, engine.Limits{}); err == nil || err.Error() != "no hook" {
		t.Errorf("got %v", err)
	}
}

// A panic of the interpreter is an error of the script. The detail of the error has no Go stack.
func TestCrash(t *testing.T) {
	for what, msg := range map[string]string{
		"index out of range": "the interpreter cannot evaluate this: index out of range",
		"RUNTIME: Unknown variable: x (we should have caught this statically)": "the variable x is not defined yet",
	} {
		g := guard{limits: engine.Limits{}.WithDefaults()}
		err := g.fault(fmt.Errorf("(CRASH) %s\ngoroutine 1 [running]:\n...", what), function{})
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != engine.KindRuntime || e.Msg != msg || e.Hint == "" || e.Stack == "" {
			t.Errorf("got %#v", err)
		}
		if strings.Contains(e.Detail()+e.Error(), "goroutine") {
			t.Errorf("the detail has the stack: %s", e.Detail())
		}
	}
}
