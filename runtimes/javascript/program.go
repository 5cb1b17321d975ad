package javascript

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
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

// A program is an entry file and what it may require. It is an [engine.Program] and [engine.Ported].
type program struct {
	entry      string
	files      fs.FS
	functions  []string // sorted
	unexported []string // functions that are declared but not offered, because others are exported
	ported     bool
	measuring  sync.Mutex
	tally      measure.Tally // of modules
	modules    sync.Map      // path -> *module: each file is compiled once, when it is first needed
	library    sync.Map      // the requires, as file and name, that were found to mean the library: looking for a file takes long
}

// Functions implements [engine.Program].
func (p *program) Functions() []string { return slices.Clone(p.functions) }

// Ported implements [engine.Ported].
func (p *program) Ported() bool { return p.ported }

// Call implements [engine.Program]: it runs function name in a new virtual machine.
func (p *program) Call(ctx context.Context, name string, arg map[string]any, env engine.Env) (map[string]any, error) {
	if !p.ported && !slices.Contains(p.functions, name) {
		return nil, p.missing(name)
	}
	r := p.newRun(env.Limits, env.Log)
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
		answer, err = r.answer(name, value)
		return err
	})
	if err != nil {
		if err.Pos.File == "" { // it is about the answer
			err.Pos = p.Place(name)
		}
		return nil, err
	}
	return answer, nil
}

// apply calls the function name with the request and waits for its promise, if it returns one.
func (r *run) apply(top exports, name string, arg map[string]any) (goja.Value, error) {
	this, function := goja.Undefined(), top.value
	if r.p.ported {
		fields := maps.Clone(arg)
		fields["request"] = map[string]any{"body": arg}
		arg = fields
	} else {
		offer := top.functionsObject()
		if offer != top.declared {
			this = offer // as in exports.sync()
		}
		function = offer.Get(name)
	}
	call, ok := goja.AssertFunction(function)
	if !ok { // the top level does not do the same each time
		return nil, r.p.missing(name)
	}
	if n := function.ToObject(r.vm).Get("length").ToInteger(); n > 1 && !r.p.ported {
		return nil, r.p.tooMany(name, n, arg)
	}
	value, err := call(this, r.value(arg, place{}))
	if err == nil {
		value, err = r.settled(value)
	}
	if err == nil && len(r.ignored) > 0 {
		err = r.unawaited()
	}
	return value, err
}

var typePromise = reflect.TypeFor[*goja.Promise]()

// settled unwraps a promise. The queue of jobs has been drained by now, so a promise that is pending stays so.
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
		panic(promise.Result()) // as if it had been thrown: an Error brings the position where it was made
	}
	return nil, &engine.Error{
		Kind: engine.KindResult, Msg: "the promise that was returned never settled",
		Hint: "nothing happens later here: there are no timers and no network to wait for",
	}
}

// unawaited is the error of the first promise that was rejected and that nothing looks at: most often an await was
// forgotten. Node.js ends the process then.
func (r *run) unawaited() *engine.Error {
	var first *goja.Promise
	for p, nth := range r.ignored {
		if first == nil || nth < r.ignored[first] {
			first = p
		}
	}
	e := r.thrown(r.vm.Try(func() { panic(first.Result()) }))
	if e.Hint == "" {
		e.Hint = "the promise that failed with it was not awaited"
	}
	return e
}

// track keeps r.ignored.
func (r *run) track(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionHandle {
		delete(r.ignored, p)
		return
	}
	if r.ignored == nil {
		r.ignored = map[*goja.Promise]int{}
	}
	r.rejected++
	r.ignored[p] = r.rejected
}

// missing explains that there is no function name.
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

// tooMany explains to those who know the other languages that parameters have no names here.
func (p *program) tooMany(name string, n int64, arg map[string]any) *engine.Error {
	fields := strings.Join(slices.Sorted(maps.Keys(arg)), ", ")
	return &engine.Error{
		Kind: engine.KindParams, Pos: p.Place(name),
		Msg:  fmt.Sprintf("takes %d parameters, but is called with one object, whose fields are %s", n, engine.Clip(fields, 400)),
		Hint: fmt.Sprintf("take it apart with braces: function %s({…})", name),
	}
}

// A run is one virtual machine at work: for a call, or for the look at the top level that Compile takes.
type run struct {
	p        *program
	ctx      context.Context // that of within
	vm       *goja.Runtime
	limits   engine.Limits
	log      func(engine.Message)
	exports  map[string]exports             // of the modules that have run
	loading  host.Chain                     // the modules that are running
	wides    map[int64]*goja.Object         // integers beyond 2^53, each one object
	faults   map[*goja.Object]*engine.Error // thrown by us: what the thrown object stands for
	ignored  map[*goja.Promise]int          // promises that were rejected, as the nth, and not handled so far
	rejected int
	guarding
}

// guarding is what the guards have to remember of a run.
type guarding struct {
	table    map[string]builtin            // builtins, by name here since guards refer to one another
	stopped  atomic.Bool                   // nothing is to be begun any more
	refused  *engine.Error                 // why, if a guard ended the call
	depth    int                           // of native functions at work
	swept    map[*goja.Object]bool         // what is guarded
	joining  map[*goja.Object]bool         // the arrays whose text is being made
	order    goja.Value                    // the default order of sorting
	any      goja.Callable                 // Promise.any
	stack    struct{ get, set goja.Value } // of errors
	patterns patternFeatures
	syntax   []goja.Value // functions that source.go calls
	regExps  *goja.Object // their prototype
	intact   reflect.Type // of the inside of that while the script has not changed it
	stepwise bool         // regular expressions are matched one by one
	certain  bool         // what the last search found is certain
	clock    time.Time
	random   *rand.Rand
}

func (p *program) newRun(l engine.Limits, log func(engine.Message)) *run {
	r := &run{p: p, vm: goja.New(), limits: l.WithDefaults(), log: log}
	r.vm.SetMaxCallStackSize(r.limits.Stack)
	r.vm.SetParserOptions(parser.WithDisableSourceMaps) // eval and Function parse too, and a source map is a file
	r.vm.SetPromiseRejectionTracker(r.track)
	r.table = builtins
	r.vm.SetTimeSource(r.now)
	r.vm.SetRandSource(r.randomNumber)
	_ = r.vm.GlobalObject().Set("console", r.vm.NewDynamicObject(&console{r: r}))
	return r
}

// now stands still during a call: what a script computes depends on its request, not on how long it takes.
func (r *run) now() time.Time {
	if r.clock.IsZero() {
		r.clock = time.Now()
	}
	return r.clock
}

// randomNumber returns the same numbers in each call, so that the answer of a script that uses Math.random stays the same.
func (r *run) randomNumber() float64 {
	if r.random == nil {
		r.random = rand.New(rand.NewPCG(1, 2))
	}
	return r.random.Float64()
}

// within calls f, which runs script code, until ctx is done, and makes an error of whatever ends it early. f may
// panic with what goja throws.
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
