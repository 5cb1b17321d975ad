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
)

// killAfter is how long after its ctx is done an evaluation may take to end before its worker is killed.
const killAfter = 50 * time.Millisecond

// readyAfter is how long a worker may take to be ready.
const readyAfter = 30 * time.Second

// A worker is the parent's end of a worker process. All but what has a comment saying otherwise belongs to who has
// acquired it.
type worker struct {
	pid     int
	in      *os.File // of the worker; written under writing
	out     *bufio.Reader
	stderr  head
	process *os.Process
	dead    chan struct{} // closed when it has been waited for; how may be read then
	how     string
	killed  bool        // by a signal KILL, whoever sent it
	ended   atomic.Bool // we have killed it

	owner    string
	served   bool // it has had an owner
	limited  bool // a script has hit a limit in it
	spent    bool // it is not to be used again
	calls    int
	mapped   int64 // memory it has needed
	largest  int64 // what the values of owner's largest request cost
	programs map[string]bool
	sent     *sent
	afresh   bool        // its objects are of another owner, and are to be forgotten
	expiry   *time.Timer // ends it when it stays idle

	writing  sync.Mutex
	mu       sync.Mutex
	exchange uint64      // that is under way, or 0
	last     uint64      // the number of the latest
	killer   *time.Timer // will kill it, if its exchange does not end
}

// launch starts a process; it must run on the thread that the process is to die with.
func launch(command []string) (*worker, error) {
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
		pid: cmd.Process.Pid, process: cmd.Process, in: inW, out: bufio.NewReaderSize(outR, 64<<10),
		dead: make(chan struct{}), programs: map[string]bool{}, sent: newSent(),
	}
	go w.wait(cmd, outR, errR)
	return w, nil
}

// wait waits for the process, and closes what is open of it.
func (w *worker) wait(cmd *exec.Cmd, out, stderr *os.File) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		w.stderr.drain(stderr)
	}()
	_ = cmd.Wait() // its state says more
	<-drained
	w.how = cmd.ProcessState.String()
	w.killed = killedBySystem(cmd.ProcessState)
	w.in.Close()
	out.Close()
	close(w.dead)
}

// kill ends the process. Who must know that it is gone waits for dead.
func (w *worker) kill() {
	w.ended.Store(true)
	_ = w.process.Kill() // it fails when it is dead
}

// ready waits until the worker has closed itself in, and gives what it misses for that.
func (w *worker) ready(ceiling int64) (missing []string, err error) {
	late := time.AfterFunc(readyAfter, w.kill)
	defer late.Stop()
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

// fail ends the worker, and adds to err what is known of its end.
func (w *worker) fail(err error) error {
	mine := !gone(err)
	w.bury(mine)
	if mine {
		return err
	}
	return fmt.Errorf("%s: %s", w.how, engine.Clip(w.stderr.String(), 1<<10))
}

// gone reports whether err says that there is no process at the other end.
func gone(err error) bool {
	for _, sign := range [...]error{io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// bury waits until the process is no more, and ends it first unless it is about to end by itself.
func (w *worker) bury(kill bool) {
	if kill {
		w.kill()
	}
	late := time.AfterFunc(time.Second, w.kill)
	defer late.Stop()
	<-w.dead
}

// A reply is what comes of an exchange.
type reply struct {
	kind kind
	text string // without what is common to all replies
}

// A demand is what an exchange is to do.
type demand struct {
	entry  string
	limits engine.Limits
	write  func(exchange uint64) error // sends it
	log    func(engine.Message)
}

// run makes an exchange. A fault of the script is an *engine.Error. When it ends otherwise than with a good reply in
// good time, the worker is spent.
func (w *worker) run(ctx context.Context, want demand) (reply, error) {
	number := w.start()
	release := context.AfterFunc(ctx, func() { w.interrupt(number) })
	late := time.AfterFunc(want.limits.Timeout+killAfter*2, func() { w.interrupt(number) })
	err := want.write(number)
	var got reply
	if err == nil {
		got, err = w.listen(want)
	}
	release()
	late.Stop()
	w.finish()
	if err == nil {
		return got, nil
	}
	return reply{}, w.explain(ctx, err, want)
}

func (w *worker) start() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	w.exchange = w.last
	return w.exchange
}

func (w *worker) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchange = 0
	if w.killer != nil {
		w.killer.Stop()
		w.killer = nil
	}
}

// interrupt tells the worker to end an exchange, and kills it if it does not.
func (w *worker) interrupt(number uint64) {
	w.mu.Lock()
	if w.exchange != number || w.killer != nil {
		w.mu.Unlock()
		return
	}
	w.killer = time.AfterFunc(killAfter, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.exchange == number {
			w.kill()
		}
	})
	w.mu.Unlock()
	e := newEncoder()
	defer e.free()
	at := e.begin(kindCancel)
	e.uint(number)
	e.end(at)
	_ = w.write(e.buf) // if it cannot be told it will be killed
}

func (w *worker) write(frames []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.in.Write(frames)
	return err
}

// listen reads until the reply, and hands on what the script prints.
func (w *worker) listen(want demand) (reply, error) {
	limit := 4*(want.limits.Output+want.limits.Log) + 16*int64(want.limits.Nodes) + 1<<20
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
		case kindProgram, kindAnswer, kindFault:
			w.mapped = d.int()
			return reply{k, d.s}, d.err
		default:
			return reply{}, fmt.Errorf("%w: of kind %q", errMalformed, k)
		}
	}
}

// explain ends the worker after an exchange that failed with err, and makes an *engine.Error of that.
func (w *worker) explain(ctx context.Context, err error, want demand) *engine.Error {
	at := engine.Pos{File: want.entry}
	w.spent = true
	stopped := w.ended.Load()
	if stopped && ctx.Err() != nil {
		return engine.Stopped(ctx, at, want.limits)
	}
	w.bury(!gone(err))
	switch {
	case stopped:
		late, cancel := context.WithDeadline(context.Background(), time.Time{})
		defer cancel()
		return engine.Stopped(late, at, want.limits)
	case errors.Is(err, errMalformed):
		return nonsense(err, w.stderr.String())
	}
	return died(w.how, w.killed, w.stderr.String(), at, want.limits)
}
