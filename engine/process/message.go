package process

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"testing/fstest"
	"time"
	"unsafe"

	"metascript/engine"
)

// A kind says what a message is. A frame is four bytes of length, a kind, and a message of that length.
type kind byte

const (
	// Messages from the parent. There is one exchange at a time: until the worker has replied, only a cancel may follow.
	kindSetup   kind = 's' // the first: how much memory calls may take at most
	kindCompile kind = 'c' // a script
	kindCall    kind = 'r' // what to call, within which limits
	kindRequest kind = 'v' // follows a call: the argument
	kindCancel  kind = 'x' // the number of the exchange to end

	// Messages from the worker.
	kindReady   kind = 'h' // the reply to setup: what the system lacks
	kindLog     kind = 'l' // a line that a script prints, sent at once
	kindDraw    kind = 'd' // a random value that a script got, sent at once
	kindProgram kind = 'p' // the functions of a script that was compiled
	kindAnswer  kind = 'a' // what a function returned
	kindFault   kind = 'e' // an error of compiling or of a call
)

// frameHead is the length of the head of a frame: the length and the kind.
const frameHead = 5

// begin begins a frame of kind k, and returns its offset in buf for end, which writes its length.
func (e *encoder) begin(k kind) (at int) {
	at = len(e.buf)
	e.buf = append(e.buf, 0, 0, 0, 0, byte(k))
	return at
}

func (e *encoder) end(at int) {
	binary.LittleEndian.PutUint32(e.buf[at:], uint32(len(e.buf)-at-frameHead))
}

// readFrame reads a frame of at most limit bytes.
func readFrame(r *bufio.Reader, limit int64) (kind, string, error) {
	head, err := r.Peek(frameHead)
	if err != nil {
		return 0, "", err
	}
	n, k := int64(binary.LittleEndian.Uint32(head)), kind(head[4])
	if n > limit {
		return 0, "", fmt.Errorf("%w: %d bytes, at most %d are allowed", errMalformed, n, limit)
	}
	if _, err := r.Discard(frameHead); err != nil {
		return 0, "", err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, "", errors.Join(io.ErrUnexpectedEOF, err)
	}
	return k, unsafe.String(unsafe.SliceData(b), len(b)), nil // nothing changes b from now on
}

func (e *encoder) limits(l engine.Limits) {
	for _, n := range [...]int64{
		int64(l.Timeout), l.Steps, l.Memory, l.Output, int64(l.Nodes), int64(l.Depth), int64(l.Stack), l.Source, l.Log,
	} {
		e.int(n)
	}
}

func (d *decoder) limits() engine.Limits {
	return engine.Limits{
		Timeout: time.Duration(d.int()), Steps: d.int(), Memory: d.int(), Output: d.int(), Nodes: int(d.int()),
		Depth: int(d.int()), Stack: int(d.int()), Source: d.int(), Log: d.int(),
	}
}

// A compilation is the message of a compile.
type compilation struct {
	exchange uint64
	digest   string
	reset    bool // remove all programs first
	script   engine.Script
	limits   engine.Limits
	kept     int64 // the memory of the stored objects
}

func (e *encoder) compilation(c compilation) {
	e.uint(c.exchange)
	e.text(c.digest)
	e.bool(c.reset)
	e.text(c.script.Language)
	e.text(c.script.Entry)
	e.text(c.script.Owner)
	e.limits(c.limits)
	e.int(c.kept)
	files := c.script.Files.(fstest.MapFS)
	e.uint(uint64(len(files)))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		e.text(name)
		e.text(string(files[name].Data))
	}
}

func (d *decoder) compilation() compilation {
	c := compilation{exchange: d.uint(), digest: d.text(), reset: d.bool()}
	c.script = engine.Script{Language: d.text(), Entry: d.text(), Owner: d.text()}
	c.limits, c.kept = d.limits(), d.int()
	files := fstest.MapFS{}
	for range d.count() {
		name := d.text()
		files[name] = &fstest.MapFile{Data: []byte(d.text()), Mode: 0o444}
	}
	c.script.Files = files
	return c
}

// A call is the message of a call, without the argument.
type call struct {
	exchange         uint64
	digest           string // of the program
	function         string
	owner            string
	limits           engine.Limits
	random           *engine.Random
	reset            bool     // remove all objects first
	record           bool     // the reads of objects, and send them with the answer
	forget           []uint64 // numbers of objects to remove after the call
	cost, costOfKept int64    // the memory of the argument, and of the stored objects
}

func (e *encoder) call(c call) {
	e.uint(c.exchange)
	e.text(c.digest)
	e.text(c.function)
	e.text(c.owner)
	e.limits(c.limits)
	e.random(c.random)
	e.bool(c.reset)
	e.bool(c.record)
	e.uint(uint64(len(c.forget)))
	for _, number := range c.forget {
		e.uint(number)
	}
	e.int(c.cost)
	e.int(c.costOfKept)
}

func (d *decoder) call() call {
	c := call{exchange: d.uint(), digest: d.text(), function: d.text(), owner: d.text(), limits: d.limits(), random: d.random(), reset: d.bool(), record: d.bool()}
	c.forget = make([]uint64, d.count())
	for i := range c.forget {
		c.forget[i] = d.uint()
	}
	c.cost, c.costOfKept = d.int(), d.int()
	return c
}

// random writes what a call needs for random values: the key, which is that of this call only.
func (e *encoder) random(r *engine.Random) {
	e.bool(r != nil)
	if r == nil {
		return
	}
	e.text(string(r.Key))
	e.uint(uint64(len(r.Known)))
	for _, label := range slices.Sorted(maps.Keys(r.Known)) {
		e.text(label)
		e.text(r.Known[label])
	}
}

func (d *decoder) random() *engine.Random {
	if !d.bool() {
		return nil
	}
	r := &engine.Random{Key: []byte(d.text()), Known: map[string]string{}}
	for range d.count() {
		label := d.text()
		r.Known[label] = d.text()
	}
	return r
}

func (e *encoder) draw(d engine.Draw) {
	e.text(d.Label)
	e.text(d.Value)
	e.bool(d.Secret)
	e.bool(d.Observed)
}

func (d *decoder) draw() engine.Draw {
	return engine.Draw{Label: d.text(), Value: d.text(), Secret: d.bool(), Observed: d.bool()}
}

func (e *encoder) pos(p engine.Pos) {
	e.text(p.File)
	e.int(int64(p.Line))
	e.int(int64(p.Col))
}

func (d *decoder) pos() engine.Pos {
	return engine.Pos{File: d.text(), Line: int(d.int()), Col: int(d.int())}
}

func (e *encoder) message(m engine.Message) {
	e.text(string(m.Level))
	e.pos(m.Pos)
	e.text(m.Text)
}

func (d *decoder) message() engine.Message {
	return engine.Message{Level: engine.Level(d.text()), Pos: d.pos(), Text: d.text()}
}

func (e *encoder) fault(f *engine.Error) {
	for _, s := range [...]string{string(f.Kind), f.Func, f.Msg, f.Source, f.Hint, f.Stack} {
		e.text(s)
	}
	e.pos(f.Pos)
	e.uint(uint64(len(f.Trace)))
	for _, frame := range f.Trace {
		e.text(frame.Func)
		e.pos(frame.Pos)
		e.uint(uint64(frame.Times))
	}
}

func (d *decoder) fault() *engine.Error {
	f := &engine.Error{Kind: engine.Kind(d.text()), Func: d.text(), Msg: d.text(), Source: d.text(), Hint: d.text(), Stack: d.text()}
	f.Pos = d.pos()
	for range d.count() {
		f.Trace = append(f.Trace, engine.Frame{Func: d.text(), Pos: d.pos(), Times: d.times()})
		if len(f.Trace) > maxTrace {
			d.fail()
		}
	}
	return f
}

// times returns how often a call repeats.
func (d *decoder) times() int { return int(min(d.uint(), math.MaxInt32)) }

// maxTrace is larger than the number of calls in any error.
const maxTrace = 1000
