package starlark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// A program is a compiled script: its globals, which are frozen.
type program struct {
	entry     string
	globals   starlark.StringDict
	functions []string
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
	v, err := recovering(func() (starlark.Value, error) { return starlark.Call(ev.thread, f, nil, kwargs) })
	if err := ev.fault(ctx, err); err != nil {
		return nil, p.placed(err, fn)
	}
	answer, fault := convertAnswer(v, fn, ev.limits)
	if fault != nil {
		fault.Pos = p.Place(fn)
		return nil, fault
	}
	return answer, nil
}

// placed returns an error without a place that of the function.
func (p *program) placed(err error, fn string) error {
	var fault *engine.Error
	if errors.As(err, &fault) && fault.Pos == (engine.Pos{}) {
		fault.Pos = p.Place(fn)
	}
	return err
}

// function finds a function by name.
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

// An evaluation is one thread with what bounds it: that of a call, or of the top levels while compiling.
type evaluation struct {
	thread     *starlark.Thread
	limits     engine.Limits
	emit       func(engine.Message)
	ctx        context.Context
	tooLong    bool        // whether the steps are used up
	shown      int64       // how many bytes the parts of a key take that were walked
	counted    int64       // what the keys weighed whose hash a script can choose
	collisions *collisions // of those, when there are many
	collided   int64       // how many steps those took that collide
}

// evaluationKey is where a thread keeps its evaluation.
const evaluationKey = "metascript.evaluation"

// newEvaluation returns an evaluation, and what must be called when it is over.
func newEvaluation(ctx context.Context, l engine.Limits, emit func(engine.Message)) (*evaluation, func() bool) {
	ev := &evaluation{thread: new(starlark.Thread), limits: l.WithDefaults(), emit: emit, ctx: ctx}
	ev.thread.SetLocal(evaluationKey, ev)
	ev.thread.SetMaxExecutionSteps(ev.maxSteps() + 1)
	ev.thread.OnMaxSteps = func(t *starlark.Thread) {
		ev.tooLong = true
		t.Cancel("too many steps")
	}
	// The interpreter looks at the thread before each instruction, of which any may take some hundredths of a second.
	return ev, context.AfterFunc(ctx, func() { ev.thread.Cancel("its time is up") })
}

// evaluationOf finds the evaluation of a thread that runs.
func evaluationOf(thread *starlark.Thread) *evaluation {
	return thread.Local(evaluationKey).(*evaluation)
}

func (ev *evaluation) maxSteps() uint64 { return uint64(min(ev.limits.Steps, math.MaxInt64-1)) }

// checkEvery is how many steps are spent within one instruction between two looks at the ctx.
const checkEvery = 1024
