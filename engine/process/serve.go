package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"metascript/engine"
)

// Verb is the command line argument that makes our own executable a worker.
const Verb = "worker"

// programsKept is how many compiled programs a worker stores; when there are more, it removes all of them.
const programsKept = 64

// Main is the main function of a worker: it restricts the process, and serves the requests of the parent over in and out. It
// returns nil when in ends, even if a script still runs, and an error if the parent sends an invalid message. Then the process has
// to exit: the restrictions cannot be removed.
func Main(ctx context.Context, runtimes map[string]engine.Runtime, in io.Reader, out io.Writer) error {
	time.Local = time.UTC
	runtime.GOMAXPROCS(2) // one for the script, one for the code that must be able to stop it
	s := &server{
		programs: map[string]engine.Program{},
		kept:     newKept(),
		in:       bufio.NewReaderSize(in, 64<<10),
		out:      out,
	}
	if err := s.setup(); err != nil {
		return err
	}
	s.engine = engine.New(engine.Options{Runtimes: runtimes, Slots: 1, Programs: programsKept, Memory: s.guard})
	for {
		if err := s.read(ctx); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// A server is the worker's side of the pipes. One goroutine reads messages. Each exchange has its own goroutine, which runs the
// script and replies.
type server struct {
	engine   *engine.Engine
	programs map[string]engine.Program // by digest; only the goroutine of the current exchange uses programs and kept
	kept     *keptObjects
	guard    *guard
	in       *bufio.Reader
	out      io.Writer

	mu       sync.Mutex // guards the fields below
	exchange uint64     // the number of the current one, or 0
	cancel   context.CancelFunc
}

// maxRequest is the maximum size of a frame from the parent, which is trusted.
const maxRequest = 1 << 30

// setup handles the first message.
func (s *server) setup() error {
	k, text, err := readFrame(s.in, 64)
	if err != nil {
		return err
	}
	d := newDecoder(text)
	ceiling := d.int()
	if err := d.end(); err != nil || k != kindSetup {
		return errMalformed
	}
	var missing []string
	s.guard, missing = harden(ceiling)
	e := &encoder{}
	at := e.begin(kindReady)
	e.texts(missing)
	e.end(at)
	_, err = s.out.Write(e.buf)
	return err
}

// read handles one message.
func (s *server) read(ctx context.Context) error {
	k, text, err := readFrame(s.in, maxRequest)
	if err != nil {
		return err
	}
	d := newDecoder(text)
	switch k {
	case kindCancel:
		n := d.uint()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.exchange == n && s.cancel != nil {
			s.cancel()
		}
		return d.end()
	case kindCompile:
		c := d.compilation()
		if err := d.end(); err != nil {
			return err
		}
		return s.begin(ctx, c.exchange, c.limits.Memory, c.kept+int64(len(text)), func(ctx context.Context) { s.compile(ctx, c) })
	case kindCall:
		c := d.call()
		if err := d.end(); err != nil {
			return err
		}
		return s.readRequest(ctx, c)
	}
	return fmt.Errorf("%w: of kind %q", errMalformed, k)
}

// readRequest reads the argument that follows a call, after the limits are set for it.
func (s *server) readRequest(ctx context.Context, c call) error {
	if err := s.idle(); err != nil {
		return err
	}
	if err := s.guard.allow(c.limits.Memory, c.cost+c.costOfKept); err != nil {
		return err
	}
	k, text, err := readFrame(s.in, maxRequest)
	if err != nil {
		return err
	}
	if c.reset {
		s.kept = newKept()
	}
	d := newDecoder(text)
	d.kept = s.kept
	if c.record {
		d.records = &recordedObjects{}
	}
	arg, ok := d.value().(map[string]any)
	if err := d.end(); err != nil || !ok || k != kindRequest {
		return errors.Join(errMalformed, err)
	}
	return s.begin(ctx, c.exchange, c.limits.Memory, c.cost+c.costOfKept, func(ctx context.Context) { s.call(ctx, c, arg, d.records) })
}

// idle returns an error if an exchange is running.
func (s *server) idle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchange != 0 {
		return fmt.Errorf("%w: an exchange is under way", errMalformed)
	}
	return nil
}

// begin sets the limits for an exchange, and calls work in a new goroutine.
func (s *server) begin(ctx context.Context, exchange uint64, memory, cost int64, work func(context.Context)) error {
	if err := s.idle(); err != nil {
		return err
	}
	if err := s.guard.allow(memory, cost); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.exchange, s.cancel = exchange, cancel
	s.mu.Unlock()
	go func() {
		defer cancel()
		work(ctx)
	}()
	return nil
}

// answer ends the exchange with a message of kind k, which write writes. If it cannot be sent, the parent has ended; then the next
// read fails.
func (s *server) answer(k kind, write func(*encoder) error) error {
	e := newEncoder()
	defer e.free()
	at := e.begin(k)
	e.int(s.guard.mapped())
	if err := write(e); err != nil {
		return err
	}
	e.end(at)
	s.mu.Lock()
	s.exchange, s.cancel = 0, nil
	s.mu.Unlock()
	_, _ = s.out.Write(e.buf)
	return nil
}

// fault ends the exchange with an error.
func (s *server) fault(err error) {
	var fault *engine.Error
	if !errors.As(err, &fault) {
		fault = &engine.Error{Kind: engine.KindPanic, Msg: engine.Clip(err.Error(), 4<<10)}
	}
	_ = s.answer(kindFault, func(e *encoder) error { e.fault(fault); return nil }) // an error can always be written
}

func (s *server) compile(ctx context.Context, c compilation) {
	if c.reset {
		clear(s.programs)
	}
	p, err := s.engine.Compile(ctx, c.script, c.limits)
	if err == nil {
		s.programs[c.digest] = p
		err = s.answer(kindProgram, func(e *encoder) error {
			ported, ok := p.(engine.Ported)
			e.bool(ok && ported.Ported())
			e.texts(p.Functions())
			var outlines []*engine.Outline
			for _, fn := range p.Functions() {
				e.pos(p.(engine.Placed).Place(fn)) // programs of an Engine implement Placed, Outlined, Reading and Warned
				outlines = append(outlines, p.(engine.Outlined).Outline(fn))
			}
			e.outlines(outlines)
			var lookups [][]engine.Lookup
			for _, fn := range p.Functions() {
				lookups = append(lookups, p.(engine.Reading).Lookups(fn))
			}
			e.lookups(lookups)
			e.warnings(p.(engine.Warned).Warnings())
			return nil
		})
	}
	if err != nil {
		s.fault(err)
	}
}

func (s *server) call(ctx context.Context, c call, arg map[string]any, records *recordedObjects) {
	answer, err := s.run(ctx, c, arg)
	s.kept.forget(c.forget)
	if err == nil {
		err = s.answer(kindAnswer, func(e *encoder) error {
			if err := e.value(answer, 1); err != nil || records == nil {
				return err
			}
			e.reads(records)
			return nil
		})
	}
	if err != nil {
		s.fault(err)
	}
}

func (s *server) run(ctx context.Context, c call, arg map[string]any) (map[string]any, error) {
	p := s.programs[c.digest]
	if p == nil {
		return nil, errors.New("the worker does not know the script")
	}
	env := engine.Env{Owner: c.owner, Limits: c.limits, Identify: s.kept.identify, Log: s.log}
	env.Limits.Log *= 2 // the parent's engine cuts the log, and adds a note
	if env.Random = c.random; c.random != nil {
		env.Random.Drawn = s.draw
	}
	return p.Call(ctx, c.function, arg, env)
}

func (s *server) draw(d engine.Draw) error {
	e := newEncoder()
	defer e.free()
	at := e.begin(kindDraw)
	e.draw(d)
	e.end(at)
	_, _ = s.out.Write(e.buf)
	return nil
}

func (s *server) log(m engine.Message) {
	e := newEncoder()
	defer e.free()
	at := e.begin(kindLog)
	e.message(m)
	e.end(at)
	_, _ = s.out.Write(e.buf)
}
