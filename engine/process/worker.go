package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"metascript/engine"
	"metascript/engine/cputime"
)

// The CPU times after which a worker is killed. It is also killed when cputime.Bound of them has passed by the wall clock. A script that can be
// interrupted needs up to 20 ms to end, since Go lets a goroutine run for 10 ms while others wait; if its other threads wait for
// a CPU, several times as much.
const (
	killAfter  = 200 * time.Millisecond // from when the ctx of its evaluation is done until the evaluation ends
	readyAfter = 5 * time.Second        // from its start until it is ready
	deadAfter  = time.Second            // from when its pipes are closed until it has ended by itself
)

// A worker is the parent's end of a worker process. Its fields belong to the caller that has acquired it, unless a comment says
// otherwise.
type worker struct {
	pid     int
	in      *os.File // the worker's stdin; guarded by writing
	out     *bufio.Reader
	pipe    *os.File // the worker's stdout, from which out reads
	stderr  firstBytes
	process *os.Process
	dead    chan struct{} // closed when the process has been waited for; then how and killed may be read
	how     string        // the state of the process, such as "exit status 1"
	killed  bool          // by the signal KILL, from any process
	ended   atomic.Bool   // kill was called

	user         user            // whom it serves, or served last; its tenant never changes once it is set
	served       bool            // it has had a user
	limited      bool            // a script has exceeded a limit in it
	spent        bool            // it must not be used again
	calls        int             // how many calls it has served
	mapped       int64           // the most memory it has used
	largest      int64           // the cost of the values of the user's largest request
	programs     map[string]bool // the digests of the scripts that it has compiled
	sent         *sentObjects
	resetObjects bool        // its objects belong to another owner, and must be removed
	expiry       *time.Timer // ends it if it stays idle

	writing  sync.Mutex    // guards in
	mu       sync.Mutex    // guards the fields below
	exchange uint64        // the number of the current one, or 0
	over     chan struct{} // closed when the exchange has ended
	last     uint64        // the number of the latest exchange
}

// launch starts a process. The process ends when the thread that calls launch ends. That thread has a low priority from then on, so that
// all threads of the process have it.
func launch(command []string) (*worker, error) {
	if err := lowerPriority(); err != nil {
		return nil, fmt.Errorf("lower the priority of a worker process: %w", err)
	}
	var files []*os.File
	closeAll := func(list []*os.File) {
		for _, f := range list {
			f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, r, w)
	}
	inR, inW, outR, outW, errR, errW := files[0], files[1], files[2], files[3], files[4], files[5]
	enlarge(inW)
	enlarge(outR)
	cmd := &exec.Cmd{
		Path: command[0], Args: command[1:], Env: []string{}, Dir: "/", SysProcAttr: attributes(),
		Stdin: inR, Stdout: outW, Stderr: errW,
	}
	err := cmd.Start()
	closeAll([]*os.File{inR, outW, errW})
	if err != nil {
		closeAll([]*os.File{inW, outR, errR})
		return nil, err
	}
	w := &worker{
		pid: cmd.Process.Pid, process: cmd.Process, in: inW, out: bufio.NewReaderSize(outR, 64<<10), pipe: outR,
		dead: make(chan struct{}), programs: map[string]bool{}, sent: newSent(),
	}
	go w.wait(cmd, errR)
	return w, nil
}

// wait waits for the process, and closes its files.
func (w *worker) wait(cmd *exec.Cmd, stderr *os.File) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		w.stderr.drain(stderr)
	}()
	_ = cmd.Wait() // the state of the process says more than the error
	<-drained
	w.how = cmd.ProcessState.String()
	w.killed = killedBySystem(cmd.ProcessState)
	w.in.Close()
	w.pipe.Close()
	close(w.dead)
}

// kill kills the process, which has ended when dead is closed. A read from it ends at once, although a process needs some CPU time
// to end.
func (w *worker) kill() {
	w.ended.Store(true)
	_ = w.process.Kill()                        // it fails if the process has ended
	_ = w.pipe.SetReadDeadline(time.Unix(1, 0)) // this fails then, too
}

// killUnless kills the worker unless done is closed before the worker has used that much CPU time.
func (w *worker) killUnless(done <-chan struct{}, limit time.Duration) {
	if !w.endsWithin(done, limit) {
		w.kill()
	}
}

// endsWithin waits until done is closed. It returns false as soon as the worker has used that much CPU time.
func (w *worker) endsWithin(done <-chan struct{}, limit time.Duration) bool {
	m := cputime.NewMeter()
	m.Start(cputime.Process(w.pid))
	return m.Wait(done, limit)
}

// ready waits until the worker has restricted itself, and returns what the system lacks for that.
func (w *worker) ready(ceiling int64) (missing []string, err error) {
	ready := make(chan struct{})
	defer close(ready)
	go w.killUnless(ready, readyAfter)
	e := newEncoder()
	defer e.free()
	at := e.begin(kindSetup)
	e.int(ceiling)
	e.end(at)
	if _, err := w.in.Write(e.buf); err != nil {
		return nil, w.fail(err)
	}
	k, text, err := readFrame(w.out, 64<<10)
	if err != nil {
		return nil, w.fail(err)
	}
	d := newDecoder(text)
	missing = d.texts()
	if err := d.end(); err != nil || k != kindReady {
		return nil, w.fail(errMalformed)
	}
	return missing, nil
}

// fail kills the worker, and adds what is known about its end to err.
func (w *worker) fail(err error) error {
	alive := !gone(err) // it has sent an invalid message
	late := w.ended.Load()
	w.waitForEnd(alive)
	switch {
	case late:
		return errors.New("it was not ready in time")
	case alive:
		return err
	}
	return fmt.Errorf("%s: %s", w.how, engine.Clip(w.stderr.String(), 1<<10))
}

// gone reports whether err means that the process at the other end of a pipe has ended.
func gone(err error) bool {
	for _, closed := range [...]error{io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// waitForEnd waits until the process has ended. It kills it first if kill is set, and later if it does not end by itself.
func (w *worker) waitForEnd(kill bool) {
	if kill {
		w.kill()
	}
	w.killUnless(w.dead, deadAfter)
	<-w.dead
}

// A reply is the result of an exchange.
type reply struct {
	kind kind
	text string // without the part that all replies have
}

// A job describes an exchange.
type job struct {
	entry  string
	limits engine.Limits
	write  func(exchange uint64) error // sends the request
	extra  func() int64                // how many bytes the answer may have in addition; may be nil
	log    func(engine.Message)        // receives what the script prints; may be nil
	draw   func(engine.Draw) error     // receives the random values that the script gets; may be nil
}

// run sends a request and waits for the reply. It cancels the exchange when ctx is done. A fault of the script is an
// *engine.Error. If there is no valid reply in time, the worker is not used again.
func (w *worker) run(ctx context.Context, want job) (reply, error) {
	number, over := w.start()
	release := context.AfterFunc(ctx, func() { w.interrupt(number, over) })
	err := want.write(number)
	var got reply
	if err == nil {
		got, err = w.readReply(want)
	}
	release()
	w.finish()
	if err == nil {
		return got, nil
	}
	return reply{}, w.explain(ctx, err, want)
}

// start begins an exchange.
func (w *worker) start() (number uint64, over chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	w.exchange, w.over = w.last, make(chan struct{})
	return w.exchange, w.over
}

// finish ends the exchange.
func (w *worker) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchange = 0
	close(w.over)
}

// interrupt cancels an exchange, and kills the worker if it does not end the exchange in time.
func (w *worker) interrupt(number uint64, over <-chan struct{}) {
	go w.cancel(number) // the pipe may be full until the worker is dead
	if w.endsWithin(over, killAfter) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exchange == number {
		w.kill()
	}
}

// cancel sends the message that cancels an exchange. It has no effect if the exchange has ended.
func (w *worker) cancel(number uint64) {
	e := newEncoder()
	defer e.free()
	at := e.begin(kindCancel)
	e.uint(number)
	e.end(at)
	_ = w.write(e.buf) // if this fails, the worker will be killed
}

func (w *worker) write(frames []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.in.Write(frames)
	return err
}

// readReply reads messages until the reply, and passes what the script prints to want.log.
func (w *worker) readReply(want job) (reply, error) {
	limit := 4*(want.limits.Output+want.limits.Log) + 16*int64(want.limits.Nodes) + 1<<20
	if want.extra != nil {
		limit += want.extra()
	}
	for {
		k, text, err := readFrame(w.out, limit)
		if err != nil {
			return reply{}, err
		}
		d := newDecoder(text)
		switch k {
		case kindLog:
			m := d.message()
			if err := d.end(); err != nil {
				return reply{}, err
			}
			if want.log != nil {
				want.log(m)
			}
		case kindDraw:
			drawn := d.draw()
			if err := d.end(); err != nil || want.draw == nil {
				return reply{}, errMalformed
			}
			if err := want.draw(drawn); err != nil { // the worker has the same limit
				return reply{}, fmt.Errorf("%w: %w", errMalformed, err)
			}
		case kindProgram, kindAnswer, kindFault:
			w.mapped = d.int()
			return reply{k, d.s}, d.err
		default:
			return reply{}, fmt.Errorf("%w: of kind %q", errMalformed, k)
		}
	}
}

// explain kills the worker after an exchange that failed with err, and returns an *engine.Error for it.
func (w *worker) explain(ctx context.Context, err error, want job) *engine.Error {
	at := engine.Pos{File: want.entry}
	w.spent = true
	stopped := w.ended.Load()
	if stopped && ctx.Err() != nil {
		return engine.Stopped(ctx, at, want.limits)
	}
	w.waitForEnd(!gone(err))
	switch {
	case stopped: // by Close
		return errClosed
	case errors.Is(err, errMalformed):
		return malformedError(err, w.stderr.String())
	}
	return died(w.how, w.killed, w.stderr.String(), at, want.limits)
}
