package engine

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"time"
)

// Options configure an [Engine].
type Options struct {
	// Runtimes are the languages, by the names that scripts call them.
	Runtimes map[string]Runtime
	// Slots is how many evaluations, compiles and calls, run at once; by default GOMAXPROCS less one, but at least 1.
	Slots int
	// Programs is how many compiled programs are kept; by default 256.
	Programs int
	// Elsewhere says that the runtimes evaluate in other processes, so that the memory and processor time of this process
	// say nothing about them: the runtimes bound the memory, and say with CountBy which time counts.
	Elsewhere bool
	// Memory, if set, is that of this process, which is there for one script at a time and which the operating system bounds.
	Memory Memory
}

// An Engine is a [Runtime] for several languages that makes running scripts safe and cheap.
//
// Compile and Call wait for a free slot, in fair turns with other owners (see lanes), for as long as the caller's ctx
// allows. Then Limits.Timeout begins to count. It counts the processor time of the thread that evaluates, or what the
// runtime says by CountBy, and never more than the time that passes: a script is not blamed for a busy machine. Where the
// system does not tell processor time (it does on Linux), it counts the time that passes. An evaluation that has not had its
// timeout when cputime.Bound of that has passed is given up, with an error of KindCanceled.
//
// An evaluation may be stopped and begun again, unseen by its caller, to let others pass (see lanes) or to find who takes the
// memory (see watchdog). All its attempts together have Limits.Timeout; those that let others pass do not count.
//
// A runtime that panics, or does not return soon after its ctx is done, does no harm to the caller, who gets an error of
// KindPanic or KindTimeout. In the latter case the evaluation is abandoned: its slot is given to others, and as long as it
// runs, further evaluations of the same text are refused, so that one text keeps one processor busy at most; if it runs on
// for long, they are refused afterwards too. A text whose compilation timed out is compiled again with a longer timeout
// only. See refusals.
//
// All errors are an [*Error], complete with function, source line, and message and trace cut to their bounds. An
// error of another type, which a runtime should not give, becomes one of KindSyntax when compiling and of
// KindRuntime in a call; one that is a context's becomes KindTimeout or KindCanceled. KindTimeout always means
// Limits.Timeout: when the caller's own deadline passes, that is KindCanceled.
//
// Compiled programs are kept: see cache for when they are reused. Compile has to read and digest the files to know
// which, so who calls often keeps the program.
type Engine struct {
	runtimes map[string]Runtime
	lanes    *lanes
	memory   monitor // nil when evaluations take no memory of this process
	programs *cache
	runaways runaways
	grace    time.Duration

	elsewhere bool
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

// Runaways are the evaluations that run on although their time is up, the oldest first.
func (e *Engine) Runaways() []Runaway {
	all, _ := e.runaways.list()
	return all
}

// Stats are the numbers of an Engine at a moment. The lanes are those that scripts begin in, and that of scripts that
// take long.
type Stats struct {
	Fast, Slow LaneStats
	Runaways   int   // how many there are now; see Runaways
	RanAway    int64 // how many there have been
}

// LaneStats are the numbers of one lane.
type LaneStats struct{ Slots, Busy, Waiting int }

// Stats returns the numbers of now, for metrics.
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
	return e.programs.get(ctx, compilation{digest, l}, func() (Program, error) {
		return e.compile(ctx, r, s, digest, l)
	})
}

// compile compiles a script that is not in the cache; s is a snapshot.
func (e *Engine) compile(ctx context.Context, r Runtime, s Script, digest string, l Limits) (Program, error) {
	if err := s.checkNesting(); err != nil {
		return nil, err.complete("", s.Files)
	}
	p, fault := run(ctx, e, task{s.Owner, digest, s.Entry, l, KindSyntax}, func(ctx context.Context) (Program, error) {
		return r.Compile(ctx, s, l)
	})
	if fault != nil {
		if fault.Pos.File == "" {
			fault.Pos.File = s.Entry
		}
		return nil, fault.complete("", s.Files)
	}
	return &program{engine: e, inner: p, entry: s.Entry, files: s.Files, digest: digest}, nil
}

// refuseTimedOut notes that a text timed out when it was compiled, so that it is refused from now on.
func (e *Engine) refuseTimedOut(t task, fault *Error) {
	if t.kind == KindSyntax && fault != nil && fault.Kind == KindTimeout {
		e.runaways.refused.timedOut(t.digest, t.limits, fault)
	}
}

// A program is what an Engine gives out for a runtime's.
type program struct {
	engine *Engine
	inner  Program
	entry  string
	files  fs.FS
	digest string
}

// Functions implements [Program].
func (p *program) Functions() []string { return p.inner.Functions() }

// Ported implements [Ported]; it is false when the runtime's program knows nothing of it.
func (p *program) Ported() bool {
	inner, ok := p.inner.(Ported)
	return ok && inner.Ported()
}

// Place implements [Placed]; it is the entry file when the runtime's program knows nothing of it.
func (p *program) Place(fn string) Pos {
	if inner, ok := p.inner.(Placed); ok {
		return inner.Place(fn)
	}
	return Pos{File: p.entry}
}

// Accuse implements [Accuser].
func (p *program) Accuse(fn, msg string) *Error {
	e := &Error{Kind: KindResult, Pos: p.Place(fn), Msg: msg}
	return e.complete(fn, p.files)
}

// Call implements [Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error) {
	env.Limits = env.Limits.WithDefaults()
	log := newBoundedLog(env.Log, env.Limits.Log)
	defer log.close()

	t := task{env.Owner, p.digest, p.entry, env.Limits, KindRuntime}
	answer, fault := run(ctx, p.engine, t, func(ctx context.Context) (map[string]any, error) {
		mine := env
		mine.Log = log.begin()
		return p.inner.Call(ctx, fn, arg, mine)
	})
	if fault != nil {
		p.locate(fault, fn)
		return nil, fault.complete(fn, p.files)
	}
	return answer, nil
}

// locate returns an error of a call of fn that has no place the function's, and so one of a limit, or of a panic, of which
// nothing but the file is known: of what had to be given up, or took its worker process with it.
func (p *program) locate(e *Error, fn string) {
	if e.Pos.File == "" || e.Pos == (Pos{File: p.entry}) && (e.Kind.Limit() || e.Kind == KindPanic) {
		e.Pos = p.Place(fn)
	}
}
