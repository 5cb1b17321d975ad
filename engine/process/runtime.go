package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing/fstest"

	"metascript/engine"
	"metascript/engine/cputime"
	"metascript/engine/packed"
)

// Runtimes returns a runtime for each language, for an [engine.Engine] with Elsewhere set: the Engine limits and queues
// evaluations, and caches compiled programs; a Pool runs them.
func (p *Pool) Runtimes(languages ...string) map[string]engine.Runtime {
	all := map[string]engine.Runtime{}
	for _, language := range languages {
		all[language] = remote{p}
	}
	return all
}

// remote is a runtime in worker processes. A worker runs all languages; a script says which one it needs.
type remote struct{ pool *Pool }

// Compile implements [engine.Runtime].
func (r remote) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	l = r.pool.bound(l)
	files, err := snapshot(s.Files)
	if err != nil {
		return nil, err
	}
	s.Files = files
	digest, err := s.Digest(l)
	if err != nil {
		return nil, err
	}
	w, err := r.pool.acquire(ctx, user{s.Tenant, s.Owner}, l.Memory)
	if err != nil {
		return nil, located(err, s.Entry)
	}
	defer r.pool.release(w)
	engine.CountBy(ctx, cputime.Process(w.pid))
	p := &program{pool: r.pool, script: s, digest: digest, limits: l}
	return p, r.pool.noteFault(ctx, w, p.compile(ctx, w))
}

// located adds the script's entry file to the error of a script for which there was no worker.
func located(err error, entry string) error {
	var fault *engine.Error
	if !errors.As(err, &fault) {
		return err
	}
	at := *fault
	at.Pos.File = entry
	return &at
}

// bound returns limits with all defaults, and with no more memory than a worker may use.
func (p *Pool) bound(l engine.Limits) engine.Limits {
	l = l.WithDefaults()
	l.Memory = min(l.Memory, p.options.Memory)
	return l
}

// snapshot reads files, whose size an Engine has checked.
func snapshot(files fs.FS) (fstest.MapFS, error) {
	if m, ok := files.(fstest.MapFS); ok {
		return m, nil // from an Engine
	}
	m := fstest.MapFS{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		m[name] = &fstest.MapFile{Data: text, Mode: 0o444}
		return err
	})
	return m, err
}

// A program is identified in workers by its digest.
type program struct {
	pool      *Pool
	script    engine.Script
	digest    string
	limits    engine.Limits // for compiling
	functions []string
	places    map[string]engine.Pos // of the functions
	outlines  []*engine.Outline     // of the functions, in their order
	lookups   [][]engine.Lookup     // of the functions, in their order
	warnings  []*engine.Error
	ported    bool // see engine.Ported
}

// Functions implements [engine.Program].
func (p *program) Functions() []string { return p.functions }

// Place implements [engine.Placed].
func (p *program) Place(fn string) engine.Pos {
	if at, known := p.places[fn]; known {
		return at
	}
	return engine.Pos{File: p.script.Entry}
}

// Outline implements [engine.Outlined].
func (p *program) Outline(fn string) *engine.Outline {
	if i := p.index(fn); i >= 0 {
		return p.outlines[i]
	}
	return nil
}

// Lookups implements [engine.Reading].
func (p *program) Lookups(fn string) []engine.Lookup {
	if i := p.index(fn); i >= 0 {
		return p.lookups[i]
	}
	return nil
}

// Warnings implements [engine.Warned].
func (p *program) Warnings() []*engine.Error { return p.warnings }

// index returns the index of a function in functions, or -1.
func (p *program) index(fn string) int {
	if p.ported && len(p.functions) > 0 {
		return 0 // its only function
	}
	return slices.Index(p.functions, fn)
}

// Ported implements [engine.Ported].
func (p *program) Ported() bool { return p.ported }

// Call implements [engine.Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	env.Limits = p.pool.bound(env.Limits)
	w, err := p.pool.acquire(ctx, user{env.Tenant, env.Owner}, env.Limits.Memory)
	if err != nil {
		return nil, located(err, p.script.Entry)
	}
	defer p.pool.release(w)
	engine.CountBy(ctx, cputime.Process(w.pid))
	if !w.programs[p.digest] {
		clone := *p // p must not change: calls are concurrent, and the result of compiling is known
		if err := clone.compile(ctx, w); err != nil {
			return nil, p.pool.noteFault(ctx, w, err)
		}
	}
	answer, err := p.call(ctx, w, fn, arg, env)
	return answer, p.pool.noteFault(ctx, w, err)
}

// noteFault marks a worker after the error of a call: a worker in which a script exceeded a limit is replaced soon, and one
// that died or ran out of memory is not used again. It returns the error.
func (p *Pool) noteFault(ctx context.Context, w *worker, err error) error {
	var fault *engine.Error
	if err == nil || !errors.As(err, &fault) {
		return err
	}
	late := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	w.limited = w.limited || late || fault.Kind.Limit()
	w.spent = w.spent || fault.Kind == engine.KindMemory || fault.Kind == engine.KindPanic
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	if w.spent {
		p.options.Log.Debug("a worker process is replaced", "pid", w.pid, "owner", w.user.owner, "reason", fault.Kind) // err may quote what is in a request
	}
	return err
}

// compile makes w compile the script.
func (p *program) compile(ctx context.Context, w *worker) error {
	reset := len(w.programs) >= programsKept // the worker removes all its programs then
	if reset {
		clear(w.programs)
	}
	got, err := w.run(ctx, job{
		entry: p.script.Entry, limits: p.limits,
		write: func(exchange uint64) error {
			e := newEncoder()
			defer e.free()
			at := e.begin(kindCompile)
			e.compilation(compilation{exchange, p.digest, reset, p.script, p.limits, w.sent.cost})
			e.end(at)
			return w.write(e.buf)
		},
	})
	if err != nil {
		return err
	}
	d := newDecoder(got.text)
	switch got.kind {
	case kindProgram:
		w.programs[p.digest] = true
		p.ported, p.functions, p.places = d.bool(), d.texts(), map[string]engine.Pos{}
		for _, fn := range p.functions {
			p.places[fn] = d.pos()
		}
		p.outlines = d.outlines(len(p.functions))
		p.lookups, p.warnings = d.lookups(len(p.functions)), d.warnings()
		return w.check(d)
	case kindFault:
		err := w.fault(d)
		var fault *engine.Error
		if errors.As(err, &fault) && fault.Kind == engine.KindTimeout {
			w.spent = true // its Engine would refuse the text from now on; only the parent's Engine decides that
		}
		return err
	}
	return w.malformedReply(fmt.Errorf("%w: of kind %q", errMalformed, got.kind))
}

// call calls a function in w, which has the program.
func (p *program) call(ctx context.Context, w *worker, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	w.calls++
	request := newEncoder()
	defer request.free()
	request.sent, request.identify = w.sent, env.Identify
	var unsendable error
	got, err := w.run(ctx, job{
		entry: p.script.Entry, limits: env.Limits, log: env.Log, draw: env.Random.Draw,
		write: func(exchange uint64) error {
			c := call{exchange: exchange, digest: p.digest, function: fn, owner: env.Owner, limits: env.Limits, random: env.Random}
			unsendable = w.writeCall(c, arg, request)
			return unsendable
		},
		extra: func() int64 { return int64(len(request.recordings)) * (maxSentReads + costScalar) },
	})
	if err == nil && got.kind == kindAnswer {
		return w.answer(newDecoder(got.text), env.Limits, request.recordings)
	}
	for _, r := range request.recordings {
		r.Map().Whole() // what was read is not known
	}
	switch {
	case errors.Is(unsendable, errUnsendable):
		return nil, unsendable
	case err != nil:
		return nil, err
	case got.kind == kindFault:
		return nil, w.fault(newDecoder(got.text))
	}
	return nil, w.malformedReply(fmt.Errorf("%w: of kind %q", errMalformed, got.kind))
}

// answer reads the answer of a script, and adds what the script has read to recordings.
func (w *worker) answer(d *decoder, l engine.Limits, recordings map[uint64]*packed.Recording) (map[string]any, error) {
	d.nodes, d.depth = min(d.nodes, l.Nodes), l.Depth+1
	answer, ok := d.value().(map[string]any)
	if !ok {
		d.fail()
	}
	if len(recordings) > 0 {
		d.reads(recordings)
	}
	return answer, w.check(d)
}

// errUnsendable is wrapped by the error about an argument that is not JSON-shaped.
var errUnsendable = errors.New("the request cannot be sent to a worker process")

// writeCall sends a call and its argument, which is encoded in request. An error that wraps errUnsendable means that nothing was sent.
func (w *worker) writeCall(c call, arg map[string]any, request *encoder) error {
	c.costOfKept = w.sent.cost
	at := request.begin(kindRequest)
	if err := request.value(arg, 1); err != nil {
		return fmt.Errorf("%w: %w", errUnsendable, err)
	}
	request.end(at)
	c.cost, c.record = request.cost, len(request.recordings) > 0
	w.largest = max(w.largest, c.cost+c.costOfKept)
	c.reset, w.resetObjects = w.resetObjects, false
	c.forget = w.sent.shrink()
	all := newEncoder()
	defer all.free()
	at = all.begin(kindCall)
	all.call(c)
	all.end(at)
	all.buf = append(all.buf, request.buf...) // one write, so that the worker does not wait in between
	return w.write(all.buf)
}

// serve assigns the worker to u.
func (w *worker) serve(u user) {
	if w.served && w.user != u {
		w.sent, w.resetObjects, w.largest = newSent(), true, 0
	}
	w.user, w.served = u, true
}

// fits reports whether the worker, which is idle, may be used for a call of u that may use that much memory: it must be alive and
// of the same tenant, no script of another owner may have exceeded a limit in it, and it must not be so large, except by the
// owner's own requests, that the call could use more than allowed.
func (w *worker) fits(u user, memory int64) bool {
	switch {
	case w.gone(), w.user.tenant != u.tenant:
		return false
	case w.user != u:
		return !w.limited && w.mapped <= allowance(memory, 0)
	}
	return w.mapped <= allowance(memory, w.largest)
}

// gone reports whether the process has ended.
func (w *worker) gone() bool {
	select {
	case <-w.dead:
		return true
	default:
		return false
	}
}

// fault reads an error that a worker sent.
func (w *worker) fault(d *decoder) error {
	f := d.fault()
	if err := w.check(d); err != nil {
		return err
	}
	return f
}

// check kills a worker that has sent an invalid message.
func (w *worker) check(d *decoder) error {
	if err := d.end(); err != nil {
		return w.malformedReply(err)
	}
	return nil
}

// malformedReply kills the worker, and returns an error about its message.
func (w *worker) malformedReply(err error) error {
	w.kill()
	return malformedError(err, w.stderr.String())
}

func malformedError(err error, stderr string) *engine.Error {
	return &engine.Error{
		Kind: engine.KindPanic, Msg: engine.Clip("the worker process sent an invalid message: "+err.Error(), 4<<10), Stack: stderr,
	}
}
