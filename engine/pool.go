package engine

import (
	"context"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Options configure an [Engine].
type Options struct {
	// Runtimes are the runtimes by the name of their language.
	Runtimes map[string]Runtime
	// Slots is how many evaluations (compilations and calls) run at the same time; by default GOMAXPROCS less one, but at
	// least 1.
	Slots int
	// Programs is how many compiled programs are cached; by default 256.
	Programs int
	// Elsewhere means that the runtimes evaluate in other processes, so that the memory and CPU time of this process say
	// nothing about them: the runtimes limit the memory, and call CountBy to set the clock that counts.
	Elsewhere bool
	// Memory, if set, is the memory of this process, which runs one script at a time and is limited by the operating system.
	Memory Memory
}

// An Engine is a [Runtime] for several languages that makes running scripts safe and cheap.
//
// Compile and Call wait for a free slot, in fair turns with other tenants and owners (see lanes), until the caller's ctx is done. Then
// Limits.Timeout starts. It counts the CPU time of the thread that evaluates, or the clock that the runtime sets with CountBy,
// and never more than the time that passes: a busy machine does not make a script time out. If the system does not report CPU
// time (Linux does), the time that passes counts. An evaluation that has not used its timeout when cputime.Bound of it has
// passed is stopped, with an error of KindCanceled.
//
// An evaluation may be stopped and started again, without its caller noticing, to let others run (see lanes) or to find out
// which one uses the memory (see watchdog). All its attempts together have Limits.Timeout; those that were stopped to let
// others run do not count.
//
// If a runtime panics, or does not return soon after its ctx is done, the caller gets an error of KindPanic or KindTimeout. In
// the latter case the evaluation is abandoned: its slot is free for others. While it runs, further evaluations of the same
// text are refused, so that one text uses at most one CPU for each tenant; if it runs for long, they are refused afterwards too. A
// text whose compilation timed out is compiled again only with a longer timeout. See refusals.
//
// All errors are an [*Error], complete with function and source line, and with message and trace cut to their maximum. An
// error of another type, which a runtime should not return, becomes one of KindSyntax when compiling and of KindRuntime in a
// call; the error of a context becomes KindTimeout or KindCanceled. KindTimeout always means Limits.Timeout: when the caller's
// own deadline passes, the error has KindCanceled.
//
// Compiled programs are cached: see cache. Compile has to read and digest the files to find one, so a caller that calls often
// should keep the program.
type Engine struct {
	runtimes map[string]Runtime
	lanes    *lanes
	memory   monitor // nil if evaluations use no memory of this process
	programs *cache
	runaways runaways
	grace    time.Duration // how much CPU time an evaluation may use after its ctx is done

	elsewhere bool // Options.Elsewhere
}

// New returns an Engine.
func New(o Options) *Engine {
	if o.Slots <= 0 {
		o.Slots = max(1, goruntime.GOMAXPROCS(0)-1)
	}
	if o.Programs <= 0 {
		o.Programs = 256
	}
	e := &Engine{
		runtimes: maps.Clone(o.Runtimes),
		lanes:    newLanes(o.Slots, o.Elsewhere),
		programs: newCache(o.Programs),
		runaways: runaways{refused: newRefusals(), all: map[*Runaway]bool{}},
		grace:    defaultGrace,

		elsewhere: o.Elsewhere,
	}
	switch {
	case o.Memory != nil:
		e.memory = boundedMemory{o.Memory}
	case !o.Elsewhere:
		e.memory = newWatchdog()
	}
	return e
}

// Runaways returns the evaluations that still run after they were stopped, the oldest first.
func (e *Engine) Runaways() []Runaway {
	all, _ := e.runaways.list()
	return all
}

// Stats are statistics of an Engine. Scripts start in the fast lane; those that take long run in the slow lane.
type Stats struct {
	Fast, Slow LaneStats
	Runaways   int   // how many there are now; see [Engine.Runaways]
	RanAway    int64 // how many there have been since the start
}

// LaneStats are statistics of one lane: how many slots it has, how many of them are taken, and how many evaluations wait for one.
type LaneStats struct{ Slots, Busy, Waiting int }

// Stats returns the current statistics, for metrics.
func (e *Engine) Stats() Stats {
	now, total := e.runaways.list()
	return Stats{Fast: e.lanes.fast.stats(), Slow: e.lanes.slow.stats(), Runaways: len(now), RanAway: total}
}

// Compile implements [Runtime].
func (e *Engine) Compile(ctx context.Context, s Script, l Limits) (Program, error) {
	l = l.WithDefaults()
	r, ok := e.runtimes[s.Language]
	if !ok {
		return nil, &Error{
			Kind: KindSource, Pos: Pos{File: s.Entry},
			Msg:  fmt.Sprintf("scripts in %q cannot be run", Clip(s.Language, maxName)),
			Hint: "the languages are " + strings.Join(slices.Sorted(maps.Keys(e.runtimes)), ", "),
		}
	}
	s, digest, err := s.snapshot(l.Source)
	if err != nil {
		return nil, err
	}
	return e.programs.get(ctx, compilation{textKey{s.Tenant, digest}, l}, func() (Program, error) {
		return e.compile(ctx, r, s, digest, l)
	})
}

// compile compiles a script that is not in the cache; s is a snapshot.
func (e *Engine) compile(ctx context.Context, r Runtime, s Script, digest string, l Limits) (Program, error) {
	if err := s.checkNesting(); err != nil {
		return nil, err.complete("", newSources(s.Files))
	}
	t := task{ownerKey{s.Tenant, s.Owner}, digest, s.Entry, l, KindSyntax}
	p, fault := run(ctx, e, t, func(ctx context.Context) (Program, error) {
		return r.Compile(ctx, s, l)
	})
	if fault != nil {
		locateTop(fault, s.Entry)
		return nil, fault.complete("", newSources(s.Files))
	}
	return &program{engine: e, inner: p, language: s.Language, entry: s.Entry, sources: newSources(s.Files), digest: digest}, nil
}

// locateTop sets the position of an error of a compilation if it is not known. A script that was stopped before its first line ran, on a
// slow machine, was stopped at the beginning.
func locateTop(e *Error, entry string) {
	if e.Pos.File == "" {
		e.Pos.File = entry
	}
	if e.Pos == (Pos{File: entry}) && (e.Kind == KindTimeout || e.Kind == KindSteps || e.Kind == KindMemory || e.Kind == KindStack) {
		e.Pos.Line, e.Pos.Col = 1, 1
	}
}

// refuseTimedOut records that the compilation of a text timed out, so that the text is refused from now on.
func (e *Engine) refuseTimedOut(t task, fault *Error) {
	if t.kind == KindSyntax && fault != nil && fault.Kind == KindTimeout {
		e.runaways.refused.timedOut(t.text(), t.limits, fault)
	}
}

// A program wraps the Program of a runtime.
type program struct {
	engine   *Engine
	inner    Program
	language string
	entry    string
	sources  *sources
	digest   string
	draws    atomic.Bool // a call has drawn a random value
}

// Functions implements [Program].
func (p *program) Functions() []string { return p.inner.Functions() }

// Ported implements [Ported]; it is false if the runtime's program is not Ported.
func (p *program) Ported() bool {
	inner, ok := p.inner.(Ported)
	return ok && inner.Ported()
}

// Place implements [Placed]; it is the entry file if the runtime's program is not Placed.
func (p *program) Place(fn string) Pos {
	if inner, ok := p.inner.(Placed); ok {
		return inner.Place(fn)
	}
	return Pos{File: p.entry}
}

// Outline implements [Outlined]; it is nil if the runtime's program is not Outlined.
func (p *program) Outline(fn string) *Outline {
	if inner, ok := p.inner.(Outlined); ok {
		return inner.Outline(fn)
	}
	return nil
}

// MayReadTime implements [Timed]; it is true if the runtime's program is not Timed.
func (p *program) MayReadTime(file string) bool {
	inner, ok := p.inner.(Timed)
	return !ok || inner.MayReadTime(file)
}

// ResultError implements [ErrorMaker].
func (p *program) ResultError(fn string, answer map[string]any, at Path, msg, hint string) *Error {
	e := &Error{Kind: KindResult, At: at, Msg: msg, Hint: hint}
	p.locate(e, fn, answer)
	e.complete(fn, p.sources)
	e.convert(p.language)
	return e
}

// Language implements [Written].
func (p *program) Language() string { return p.language }

// Quotes implements [Written].
func (p *program) Quotes(text string) bool { return p.sources.quotes(text) }

// Draws implements [Drawing].
func (p *program) Draws() bool { return p.draws.Load() }

// Call implements [Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error) {
	env.Limits, env.Random = env.Limits.WithDefaults(), env.Random.bounded()
	log := newBoundedLog(env.Log, env.Limits.Log)
	defer log.close()

	answer, fault := p.callWithKey(ctx, env, func(env Env) (map[string]any, *Error) { return p.run(ctx, fn, arg, env, log) })
	if fault != nil {
		p.locate(fault, fn, nil)
		return nil, fault.complete(fn, p.sources)
	}
	return answer, nil
}

// callWithKey calls call, with the key of random values if the script draws some; see [Random].
func (p *program) callWithKey(ctx context.Context, env Env, call func(Env) (map[string]any, *Error)) (map[string]any, *Error) {
	random := env.Random
	if p.draws.Load() && random != nil && random.FindKey != nil {
		env.Random, _ = random.withKey(ctx) // if it fails, the call may not draw a value this time
	}
	answer, fault := call(env)
	if !env.Random.lacksKey(fault) {
		return answer, fault
	}
	p.draws.Store(true)
	var err error
	if env.Random, err = random.withKey(ctx); err != nil {
		fault.Kind, fault.Msg, fault.Hint = KindCanceled, fmt.Sprintf("%s: %v", fault.Msg, err), ""
		return nil, fault
	}
	return call(env)
}

// run calls the function once, in as many attempts as it needs.
func (p *program) run(ctx context.Context, fn string, arg map[string]any, env Env, log *boundedLog) (map[string]any, *Error) {
	t := task{ownerKey{env.Tenant, env.Owner}, p.digest, p.entry, env.Limits, KindRuntime}
	return run(ctx, p.engine, t, func(ctx context.Context) (map[string]any, error) {
		attempt := env
		attempt.Log = log.begin()
		return p.inner.Call(ctx, fn, arg, attempt)
	})
}

// locate sets the position of an error in a call of the function fn if it is not known. An error about a value of the answer
// gets the place where the value is written. Any other gets that of the function: the answer as a whole is wrong, the call was
// abandoned, or its worker process ended.
func (p *program) locate(e *Error, fn string, answer map[string]any) {
	if e.Kind == KindResult && e.At != nil {
		if at := p.Outline(fn).Find(e.At, answer); at.Line > 0 {
			e.Pos = at
			return
		}
	}
	if e.Pos.File == "" || e.Pos == (Pos{File: p.entry}) && (e.Kind.Limit() || e.Kind == KindPanic) {
		e.Pos = p.Place(fn)
	}
}
