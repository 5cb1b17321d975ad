package starlark

import (
	"context"
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
	ev := newEvaluation(ctx, env.Limits, env.Log)
	v, err := starlark.Call(ev.thread, f, nil, kwargs)
	if err := ev.fault(ctx, err); err != nil {
		return nil, err
	}
	answer, fault := convertAnswer(v, fn, ev.limits)
	if fault != nil {
		fault.Pos = position(f.Position())
		return nil, fault
	}
	return answer, nil
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
	err := &engine.Error{
		Kind: engine.KindMissing, Pos: engine.Pos{File: p.entry},
		Msg:  "the script defines no function " + quote(name),
		Hint: "it defines no functions: write def sync(parent, children): ...",
	}
	if len(p.functions) > 0 {
		err.Hint = suggest(name, p.functions, "it defines ")
	}
	return nil, err
}

// An evaluation is one thread with what bounds it: that of a call, or of the top levels while compiling.
type evaluation struct {
	thread  *starlark.Thread
	limits  engine.Limits
	emit    func(engine.Message)
	ctxErr  func() error // the ctx's
	tooLong bool         // whether the steps are used up
	wide    int64        // how many keys there were whose hash a script can choose
}

// evaluationKey is where a thread keeps its evaluation.
const evaluationKey = "metascript.evaluation"

// newEvaluation returns an evaluation. It looks at ctx by itself, every now and then: to be told of its end would cost as
// much as a small script.
func newEvaluation(ctx context.Context, l engine.Limits, emit func(engine.Message)) *evaluation {
	ev := &evaluation{thread: new(starlark.Thread), limits: l.WithDefaults(), emit: emit, ctxErr: ctx.Err}
	ev.thread.SetLocal(evaluationKey, ev)
	ev.thread.OnMaxSteps = ev.look
	ev.look(ev.thread)
	return ev
}

// lookEvery is how many steps are taken between two looks at ctx. A look costs no more than a step; but one step may call a
// method that reads or copies a text of many megabytes, and ten thousand of those would take minutes.
const lookEvery = 16

// look ends the evaluation when it must, or says when to look again.
func (ev *evaluation) look(thread *starlark.Thread) {
	switch {
	case thread.Steps > ev.maxSteps():
		ev.tooLong = true
		thread.Cancel("too many steps")
	case ev.ctxErr() != nil:
		thread.Cancel("its time is up")
	default:
		thread.SetMaxExecutionSteps(min(thread.Steps+lookEvery, ev.maxSteps()+1))
	}
}

// evaluationOf finds the evaluation of a thread that runs.
func evaluationOf(thread *starlark.Thread) *evaluation {
	return thread.Local(evaluationKey).(*evaluation)
}

func (ev *evaluation) maxSteps() uint64 { return uint64(min(ev.limits.Steps, math.MaxInt64-1)) }

// checkEvery is how many steps are spent within one instruction between two looks at the ctx.
const checkEvery = 1024
