package javascript

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// A program is an entry file and the files that it may require. It implements [engine.Program] and [engine.Ported].
type program struct {
	entry      string
	files      fs.FS
	typescript bool     // the files with the ending .ts, and the entry, are TypeScript
	functions  []string // sorted
	unexported []string // functions that are declared but cannot be called, because others are exported
	ported     bool
	warnings   []*engine.Error
	measuring  sync.Mutex    // serializes store, and guards tally
	tally      measure.Tally // the cost of all modules
	modules    sync.Map      // path -> *module: each file is compiled once, when it is first required
	library    sync.Map      // {file, name} of each require that means the library; a cache, since to search a file is slow
}

// Functions implements [engine.Program].
func (p *program) Functions() []string { return slices.Clone(p.functions) }

// Ported implements [engine.Ported].
func (p *program) Ported() bool { return p.ported }

// Warnings implements [engine.Warned].
func (p *program) Warnings() []*engine.Error { return p.warnings }

// Call implements [engine.Program]: it runs function name in a new virtual machine.
func (p *program) Call(ctx context.Context, name string, arg map[string]any, env engine.Env) (map[string]any, error) {
	if !p.ported && !slices.Contains(p.functions, name) {
		return nil, p.missing(name)
	}
	r := p.newRun(env.Limits, env.Log)
	r.clock, r.random = requestTime(arg), env.Random
	var answer map[string]any
	err := r.within(ctx, func() error {
		top, err := r.load(p.entry)
		if err != nil {
			return err
		}
		value, err := r.apply(top, name, arg)
		if err != nil {
			return err
		}
		answer, err = r.convertResult(name, value)
		return err
	})
	if err != nil {
		if err.Pos.File == "" { // an error in the result has no position
			err.Pos = p.Place(name)
		}
		return nil, err
	}
	return answer, nil
}

// apply calls the function name with the request, and returns its result or the result of the promise that it returned.
func (r *run) apply(top exports, name string, arg map[string]any) (goja.Value, error) {
	this, function := goja.Undefined(), top.value
	if r.p.ported {
		fields := maps.Clone(arg)
		fields["request"] = map[string]any{"body": arg}
		arg = fields
	} else {
		object := top.functionsObject()
		if object != top.declared {
			this = object // as in exports.sync()
		}
		function = object.Get(name)
	}
	call, ok := goja.AssertFunction(function)
	if !ok { // the top level declares other functions than in Compile
		return nil, r.p.missing(name)
	}
	if n := function.ToObject(r.vm).Get("length").ToInteger(); n > 1 && !r.p.ported {
		return nil, r.p.tooManyParameters(name, n, arg)
	}
	value, err := call(this, r.value(arg, place{}))
	if err == nil {
		value, err = r.settled(value)
	}
	if err == nil && len(r.unhandled) > 0 {
		err = r.unhandledRejection()
	}
	return value, err
}

var typePromise = reflect.TypeFor[*goja.Promise]()

// settled returns the result of a promise, and other values as they are. goja has run all queued jobs already, so a promise that
// is pending never settles.
func (r *run) settled(v goja.Value) (goja.Value, error) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != typePromise {
		return v, nil
	}
	promise := o.Export().(*goja.Promise)
	switch promise.State() {
	case goja.PromiseStateFulfilled:
		return promise.Result(), nil
	case goja.PromiseStateRejected:
		panic(promise.Result()) // like a throw; an Error has the position where it was made
	}
	return nil, &engine.Error{
		Kind: engine.KindResult, Msg: "the promise that was returned never settled",
		Hint: "a script cannot wait: there are no timers and no network",
	}
}

// unhandledRejection returns the error of the first promise that was rejected without a handler. Usually the script lacks an
// await. Node.js ends the process in that case.
func (r *run) unhandledRejection() *engine.Error {
	var first *goja.Promise
	for p, nth := range r.unhandled {
		if first == nil || nth < r.unhandled[first] {
			first = p
		}
	}
	e := r.thrown(r.vm.Try(func() { panic(first.Result()) }))
	if e.Hint == "" {
		e.Hint = "the promise that failed with it was not awaited"
	}
	return e
}

// track is called by goja when a promise is rejected or handled, and updates r.unhandled.
func (r *run) track(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionHandle {
		delete(r.unhandled, p)
		return
	}
	if r.unhandled == nil {
		r.unhandled = map[*goja.Promise]int{}
	}
	r.rejected++
	r.unhandled[p] = r.rejected
}

// missing returns the error for a function that does not exist.
func (p *program) missing(name string) *engine.Error {
	e := &engine.Error{Kind: engine.KindMissing, Pos: p.Place(name)}
	e.Msg = "there is no function " + naming.Quote(name)
	if slices.Contains(p.unexported, name) {
		e.Hint = name + " is declared here, but not exported: a file that exports functions offers no others"
	} else if e.Pos.Line > 0 {
		e.Msg = name + " is not a function"
	}
	if len(p.functions) == 0 {
		e.Msg += "; the file declares none at its top level"
	} else {
		e.Msg += "; the file has " + engine.Clip(strings.Join(p.functions, ", "), 400)
	}
	return e
}

// tooManyParameters returns the error for a function with n parameters. In the other languages, parameters are matched by name;
// here a function gets one object.
func (p *program) tooManyParameters(name string, n int64, arg map[string]any) *engine.Error {
	fields := strings.Join(slices.Sorted(maps.Keys(arg)), ", ")
	return &engine.Error{
		Kind: engine.KindParams, Pos: p.Place(name),
		Msg:  fmt.Sprintf("takes %d parameters, but is called with one object, whose fields are %s", n, engine.Clip(fields, 400)),
		Hint: fmt.Sprintf("destructure it with braces: function %s({…})", name),
	}
}

// A run is a running virtual machine. It is used for one call, or by Compile to run the top level.
type run struct {
	p         *program
	ctx       context.Context // set by within
	vm        *goja.Runtime
	limits    engine.Limits
	log       func(engine.Message)
	exports   map[string]exports             // the exports of the modules that have run
	loading   host.Chain                     // the modules that are running
	wideInts  map[int64]*goja.Object         // integers beyond 2^53, each one object
	faults    map[*goja.Object]*engine.Error // the error for each object that this package threw
	unhandled map[*goja.Promise]int          // rejected promises without a handler, with their number
	rejected  int                            // the number of the last rejected promise
	missed    *mapView                       // the groups of which the script has read one that does not exist, the last time; nil if none
	missedKey string                         // and its key

	compiling    bool                // the run is one of Compile
	missedFields map[string]*mapView // the other fields of the request that the script has read and that do not exist, by key
	viewState
	guardState
}

// guardState is the state that guards need in a run.
type guardState struct {
	table        map[string]builtin            // a copy of builtins, since guards refer to the table and the table to guards
	stopped      atomic.Bool                   // no native function may begin any more
	refused      *engine.Error                 // the reason if a guard ended the call, else nil
	depth        int                           // how deeply the running native functions are nested
	swept        map[*goja.Object]bool         // the objects that sweep has handled
	joining      map[*goja.Object]bool         // the arrays that are being joined, to detect cycles
	order        goja.Value                    // the comparison function for the default order
	any          goja.Callable                 // the replacement of Promise.any
	stack        struct{ get, set goja.Value } // the accessors of the stack of errors
	patterns     patternFeatures
	sources      map[string]goja.String // what the script wrote for patterns that were translated, by the translation
	syntax       []goja.Value           // the functions that source.go inserts
	regExps      *goja.Object           // the prototype of regular expressions; nil until guarded
	originalType reflect.Type           // the inner type of regExps while exec is not replaced
	stepwise     bool                   // regular expressions are matched one by one
	searched     searchedText
	clock        time.Time // the time of the request, or of the first call of now
	random       *engine.Random
}

func (p *program) newRun(l engine.Limits, log func(engine.Message)) *run {
	r := &run{p: p, vm: goja.New(), limits: l.WithDefaults(), log: log}
	r.vm.SetMaxCallStackSize(r.limits.Stack)
	r.vm.SetParserOptions(parser.WithDisableSourceMaps) // a source map would be read from a file
	r.vm.SetPromiseRejectionTracker(r.track)
	r.table = builtins
	r.vm.SetTimeSource(r.now)
	_ = r.vm.GlobalObject().Set("console", r.vm.NewDynamicObject(&console{r: r}))
	return r
}

// requestTime returns the time in the field now of a request, or the zero time.
func requestTime(arg map[string]any) time.Time {
	text, _ := arg["now"].(string)
	at, _ := time.Parse(time.RFC3339, text) // zero if it is no time
	return at
}

// now returns the same time during the whole call, so that the result of a script depends on its request, not on its duration. It is
// the time of the request, if it has one.
func (r *run) now() time.Time {
	if r.clock.IsZero() {
		r.clock = time.Now()
	}
	return r.clock
}

// within calls f, which runs script code, and interrupts it when ctx is done. It converts errors, exceptions and panics to the
// error that the script's author sees.
func (r *run) within(ctx context.Context, f func() error) (fault *engine.Error) {
	if ctx.Err() != nil {
		return engine.Stopped(ctx, engine.Pos{File: r.p.entry}, r.limits)
	}
	stop := context.AfterFunc(ctx, func() {
		r.stopped.Store(true)
		r.vm.Interrupt("stopped")
	})
	defer stop()
	r.ctx = ctx
	running.Store(r.vm, r)
	defer running.Delete(r.vm)
	defer func() {
		if x := recover(); x != nil {
			fault = r.panicked(ctx, x)
		}
	}()
	var err error
	if thrown := r.vm.Try(func() { err = f() }); thrown != nil {
		err = thrown
	}
	if err == nil {
		return nil
	}
	return r.fault(ctx, err)
}
