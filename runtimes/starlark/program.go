package starlark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// A program is a compiled script. Its globals are frozen.
type program struct {
	entry     string
	globals   starlark.StringDict
	functions []string
	outlines  map[engine.Pos]*engine.Outline // of functions, by position
	lookups   map[engine.Pos][]engine.Lookup // of functions, by position
	timeless  map[string]bool                // files that certainly do not read the time
}

// Functions implements [engine.Program].
func (p *program) Functions() []string { return slices.Clone(p.functions) }

// Place implements [engine.Placed].
func (p *program) Place(fn string) engine.Pos {
	if f, ok := p.globals[fn].(*starlark.Function); ok {
		return position(f.Position())
	}
	return engine.Pos{File: p.entry}
}

// Outline implements [engine.Outlined].
func (p *program) Outline(fn string) *engine.Outline {
	if f, ok := p.globals[fn].(*starlark.Function); ok {
		return p.outlines[position(f.Position())]
	}
	return nil
}

// Lookups implements [engine.Reading].
func (p *program) Lookups(fn string) []engine.Lookup {
	if f, ok := p.globals[fn].(*starlark.Function); ok {
		return p.lookups[position(f.Position())]
	}
	return nil
}

// Call implements [engine.Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	f, fault := p.function(fn)
	if fault != nil {
		return nil, fault
	}
	kwargs, fault := bind(f, arg)
	if fault != nil {
		return nil, fault
	}
	ev, end := newEvaluation(ctx, env.Limits, env.Log)
	defer end()
	ev.random = env.Random
	v, err := catchPanic(func() (starlark.Value, error) { return starlark.Call(ev.thread, f, nil, kwargs) })
	if err := ev.fault(ctx, err); err != nil {
		return nil, p.withParameters(p.withPosition(err, fn))
	}
	answer, fault := convertResult(v, fn, ev.limits)
	if fault != nil {
		fault.Pos = p.Place(fn)
		return nil, fault
	}
	return answer, nil
}

// withPosition sets the position of an error that has none to the position of the function fn.
func (p *program) withPosition(err error, fn string) error {
	var fault *engine.Error
	if errors.As(err, &fault) && fault.Pos == (engine.Pos{}) {
		fault.Pos = p.Place(fn)
	}
	return err
}

// noParameter matches the error for an argument whose name is not a parameter of a function.
var noParameter = regexp.MustCompile(`^the function (\w+) has no parameter "(\w+)"$`)

// withParameters adds a hint to that error.
func (p *program) withParameters(err error) error {
	var fault *engine.Error
	if !errors.As(err, &fault) || fault.Kind != engine.KindRuntime {
		return err
	}
	match := noParameter.FindStringSubmatch(fault.Msg)
	if match == nil {
		return err
	}
	if f, ok := p.globals[match[1]].(*starlark.Function); ok {
		var names []string
		for i := range f.NumParams() {
			name, _ := f.Param(i)
			names = append(names, name)
		}
		fault.Hint = naming.Suggest(match[2], names, "its parameters are ")
	}
	return err
}

// function returns the global function with that name, or an error if there is none.
func (p *program) function(name string) (*starlark.Function, *engine.Error) {
	switch v := p.globals[name].(type) {
	case *starlark.Function:
		return v, nil
	case nil:
	default:
		return nil, &engine.Error{
			Kind: engine.KindMissing, Pos: engine.Pos{File: p.entry},
			Msg: fmt.Sprintf("%s is %s, not a function", name, article(typeName(v))),
		}
	}
	return nil, naming.NoFunction(p.entry, name, p.functions, "it defines no functions: write def sync(parent, children): ...")
}

// An evaluation is a thread with its limits. It runs one call, or, in Compile, the top level of all files.
type evaluation struct {
	thread     *starlark.Thread
	limits     engine.Limits
	emit       func(engine.Message)
	random     *engine.Random
	ctx        context.Context
	outOfSteps bool // the steps are used up

	// For key.go.
	keyTextSize    int64       // bytes of the visited parts of the current key, as text
	keyWeight      int64       // sum of the weights of all keys whose hash a script can choose
	collisions     *collisions // nil until keyWeight exceeds freeKeyWeight
	collisionSteps int64       // steps charged for collisions
}

// evaluationKey is the name of the thread-local value that is the evaluation.
const evaluationKey = "metascript.evaluation"

// newEvaluation returns an evaluation that is canceled when ctx is done, and a function that the caller must call at the end.
func newEvaluation(ctx context.Context, l engine.Limits, emit func(engine.Message)) (*evaluation, func() bool) {
	ev := &evaluation{thread: new(starlark.Thread), limits: l.WithDefaults(), emit: emit, ctx: ctx}
	ev.thread.SetLocal(evaluationKey, ev)
	ev.thread.SetMaxExecutionSteps(ev.maxSteps() + 1)
	ev.thread.OnMaxSteps = func(t *starlark.Thread) {
		ev.outOfSteps = true
		t.Cancel("too many steps")
	}
	// The interpreter checks for cancellation before each instruction. One instruction may take some hundredths of a second.
	return ev, context.AfterFunc(ctx, func() { ev.thread.Cancel("its time is up") })
}

// evaluationOf returns the evaluation of a running thread.
func evaluationOf(thread *starlark.Thread) *evaluation {
	return thread.Local(evaluationKey).(*evaluation)
}

func (ev *evaluation) maxSteps() uint64 { return uint64(min(ev.limits.Steps, math.MaxInt64-1)) }

// checkEvery is the number of steps within one instruction after which ctx is checked.
const checkEvery = 1024
