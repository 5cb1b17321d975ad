package javascript

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// goja's parser does not check a context. It takes exponential time if it reads the parameters of arrow functions twice (see
// arrows.go) or continues after syntax errors. A goroutine that parses cannot be stopped, and a worker process, which could be
// killed, would have to parse every file a second time. So parse stops the parser by setting the length of its text to zero: the
// parser then finds the end of the text at its current position.
//
// This depends on the layout of the parser, as other parts of this package depend on the layout of goja. The layout is checked
// when the first file is parsed. If a version of goja has another layout, no file is parsed.

// A parserLayout has the layout of goja's parser.
type parserLayout struct {
	text              string
	length, base      int // length and position of text
	chr               rune
	chrOffset, offset int
	idx               file.Idx
	token             token.Token
	literal           string
	parsed            unistring.String
	scope             unsafe.Pointer
	insert, implicit  bool
	errors            parser.ErrorList
	recovering        struct{ idx, count int }
	mode              parser.Mode
	options           struct {
		disableSourceMaps bool
		loader            func(string) ([]byte, error)
	}
	file *file.File
}

// parserOf returns the parser to which the options belong.
func parserOf(options unsafe.Pointer) *parserLayout {
	return (*parserLayout)(unsafe.Add(options, -int(unsafe.Offsetof(parserLayout{}.options))))
}

// end makes the parser find the end of its text. It writes a word that the parser reads in another goroutine. The parser sees the
// old or the new value, and both are fine. So the race detector is disabled here.
//
//go:norace
func (p *parserLayout) end() { p.length = 0 }

// parserOption returns an option that calls receive with the parser.
func parserOption(receive func(*parserLayout)) parser.Option {
	option := reflect.MakeFunc(reflect.TypeFor[parser.Option](), func(args []reflect.Value) []reflect.Value {
		receive(parserOf(args[0].UnsafePointer()))
		return nil
	})
	return option.Interface().(parser.Option)
}

// checkParser returns an error if goja's parser does not have the layout of parserLayout.
var checkParser = sync.OnceValue(func() error {
	const sample = "x = 1 // whatever"
	known := false
	_, err := parser.ParseFile(nil, "sample", sample, 0, parser.WithDisableSourceMaps, parserOption(func(p *parserLayout) {
		options := reflect.TypeFor[parser.Option]().In(0).Elem()
		known = options.Size() == unsafe.Sizeof(p.options) && p.length == len(sample) && p.base == 1 && p.chr == ' ' && p.offset == 0 &&
			p.options.disableSourceMaps && p.text == sample
	}))
	if err != nil || !known {
		return fmt.Errorf("this version of goja cannot be guarded: its parser is another one (%v)", err)
	}
	return nil
})

// parse parses a file. If ctx is done before the end, the result is invalid, and the caller must check ctx.
func parse(ctx context.Context, name, src string) (parsed *ast.Program, err error) {
	if err := checkParser(); err != nil {
		return nil, err
	}
	defer func() {
		if x := recover(); x != nil {
			if ctx.Err() == nil {
				panic(x)
			}
			err = ctx.Err() // the parser does not expect its text to become shorter
		}
	}()
	stop := func() bool { return false }
	defer func() { stop() }()
	return parser.ParseFile(nil, name, src, 0, parser.WithDisableSourceMaps, parserOption(func(p *parserLayout) {
		stop = context.AfterFunc(ctx, p.end)
	}))
}
