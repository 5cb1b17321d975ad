package simulation

import (
	"context"
	"time"

	"metascript/cmd/metascript/internal/memapi"
	"metascript/cmd/metascript/internal/virtualtime"
	"metascript/controller/build"
	"metascript/controller/random"
	"metascript/engine"
)

// outsideRuntime runs scripts outside of the simulation, in the real time: their limits are about CPU time.
type outsideRuntime struct {
	engine.Runtime
	outside *virtualtime.Outside
}

// Compile implements engine.Runtime.
func (r outsideRuntime) Compile(ctx context.Context, s engine.Script, l engine.Limits) (p engine.Program, err error) {
	r.outside.Do(func() { p, err = r.Runtime.Compile(context.WithoutCancel(ctx), s, l) })
	if err != nil {
		return nil, err
	}
	return outsideProgram{p.(engineProgram), r.outside}, nil
}

// engineProgram is what the programs of an engine.Engine are.
type engineProgram interface {
	engine.Program
	engine.Ported
	engine.Placed
	engine.ErrorMaker
	engine.Written
}

// outsideProgram is a program of outsideRuntime.
type outsideProgram struct {
	engineProgram
	outside *virtualtime.Outside
}

// Call implements engine.Program.
func (p outsideProgram) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (answer map[string]any, err error) {
	time.Sleep(memapi.Latency) // so that what a call causes is after what caused the call
	p.outside.Do(func() { answer, err = p.engineProgram.Call(context.WithoutCancel(ctx), fn, arg, env) })
	return answer, err
}

// runOutside returns a sandbox whose engines run scripts outside of the simulation. Their random values are the same in each simulation.
func runOutside(s build.Sandbox, outside *virtualtime.Outside) build.Sandbox {
	s.Random = random.Offline
	if s.InProcess != nil {
		s.InProcess = outsideRuntime{s.InProcess, outside}
	}
	if s.Process != nil {
		s.Process = outsideRuntime{s.Process, outside}
	}
	return s
}
