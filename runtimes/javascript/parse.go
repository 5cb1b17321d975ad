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

// goja's parser sees no context, and takes exponential time where it reads the parameters of arrow functions twice (see
// arrows.go) or continues behind mistakes. A goroutine that parses cannot be ended, and a worker process that could be would
// have to read every file a second time. So the parser is ended as an interpreter is interrupted: we have it find the end
// of its text wherever it is.
//
// That rests on the layout of the parser, as much in this package does on goja's. It is compared with what we know when the
// first file is parsed; with another version of goja nothing is parsed.

// A parserInside is goja's parser.
type parserInside struct {
	text              string
	length, base      int // of text
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

// parserOf returns the parser that is given an option.
func parserOf(options unsafe.Pointer) *parserInside {
	return (*parserInside)(unsafe.Add(options, -int(unsafe.Offsetof(parserInside{}.options))))
}

// end makes the parser find the end of its text. It writes to what the parser reads in another goroutine: one word, which
// is the old one or the new one there, and either will do. The race detector is not shown it.
//
//go:norace
func (p *parserInside) end() { p.length = 0 }

// parserOption is an option that gives the parser, once it is made, to see.
func parserOption(see func(*parserInside)) parser.Option {
	option := reflect.MakeFunc(reflect.TypeFor[parser.Option](), func(args []reflect.Value) []reflect.Value {
		see(parserOf(args[0].UnsafePointer()))
		return nil
	})
	return option.Interface().(parser.Option)
}

// parserKnown is an error when goja's parser is not as we know it.
var parserKnown = sync.OnceValue(func() error {
	const sample = "x = 1 // whatever"
	known := false
	_, err := parser.ParseFile(nil, "sample", sample, 0, parser.WithDisableSourceMaps, parserOption(func(p *parserInside) {
		options := reflect.TypeFor[parser.Option]().In(0).Elem()
		known = options.Size() == unsafe.Sizeof(p.options) && p.length == len(sample) && p.base == 1 && p.chr == ' ' && p.offset == 0 &&
			p.options.disableSourceMaps && p.text == sample
	}))
	if err != nil || !known {
		return fmt.Errorf("this version of goja cannot be guarded: its parser is another one (%v)", err)
	}
	return nil
})

// parse parses a file, until ctx is done. What it returns then is of no use.
func parse(ctx context.Context, name, src string) (parsed *ast.Program, err error) {
	if err := parserKnown(); err != nil {
		return nil, err
	}
	defer func() {
		if x := recover(); x != nil {
			if ctx.Err() == nil {
				panic(x)
			}
			err = ctx.Err() // it does not expect its text to be shorter
		}
	}()
	stop := func() bool { return false }
	defer func() { stop() }()
	return parser.ParseFile(nil, name, src, 0, parser.WithDisableSourceMaps, parserOption(func(p *parserInside) {
		stop = context.AfterFunc(ctx, p.end)
	}))
}
