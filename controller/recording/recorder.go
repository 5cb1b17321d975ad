package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/controller/scrub"
)

// Options configure a [Recorder].
type Options struct {
	Filter  Filter
	Program string // the version of the program

	// Secrets returns the Secrets that the server has in its caches. The values of those that May permits are replaced too, and known before
	// anything is written. Other Secrets have no effect, except those that a recorded reconcile has read. It may be nil.
	Secrets func() []*object.Object
	// May reports whether what is recorded may have objects of a kind in a namespace. A reconcile with others is not recorded, and
	// counted. Nil: it may have all.
	May func(kind object.Kind, namespace string) bool
	// Parents returns the parents that the controllers have now. Those without a recorded reconcile are named at the end. It may be nil.
	Parents func() []observe.About
	// Flushed is called after what was recorded so far was written, with its size. It may be nil.
	Flushed func(Progress)

	Queue int64         // limit in bytes of what waits to be written; default 64 MiB
	Hold  time.Duration // how long a reconcile waits, so that the values of Secrets that follow are known; default 2s
}

// Progress is what was recorded so far.
type Progress struct {
	End
	Bytes int64 // compressed
}

// ErrKnownTooLate is the error of a recording that may have a value of a Secret, since the value was written before a Secret with it was
// seen. The file must be deleted.
var ErrKnownTooLate = errors.New("a Secret was created or read whose value may be in what was recorded before: the recording must be deleted; in another recording, this Secret is known from the beginning")

// The reasons why a recording ended.
const (
	WhyStopped = "it was stopped"
	WhyTime    = "the time is over"
	WhyBytes   = "the size is reached"
	WhyLate    = "a Secret was seen too late: this recording must be deleted"
)

// A Recorder records reconciles. It is an observe.Sink that never waits: it adds a reconcile to a queue, from which Run writes. If the
// queue is full, reconciles are dropped and counted.
type Recorder struct {
	options Options
	wake    chan struct{} // has one element if the queue is half full

	mu         sync.Mutex // guards the fields below
	queue      []*queued
	size       int64 // of queue
	dropped    int
	remembered int
	ended      bool
}

// queued is a reconcile that waits to be written.
type queued struct {
	*observe.Reconcile
	size  int64
	since time.Time

	judged, denied bool // set by Run: whether it may be read
}

// New returns a Recorder. It records from now on, and writes when Run is called.
func New(o Options) *Recorder {
	o.Queue, o.Hold = cmp.Or(o.Queue, 64<<20), cmp.Or(o.Hold, 2*time.Second)
	return &Recorder{options: o, wake: make(chan struct{}, 1)}
}

// Selects reports whether the parent is recorded.
func (f *Filter) Selects(about observe.About) bool {
	return (len(f.Controllers) == 0 || slices.Contains(f.Controllers, about.Controller)) &&
		(f.Namespace == "" || f.Namespace == about.Parent.Namespace) && (f.Parent == "" || f.Parent == about.Parent.Name)
}

// Reconciled implements observe.Sink.
func (r *Recorder) Reconciled(done *observe.Reconcile) {
	if !r.options.Filter.Selects(done.About) {
		return
	}
	size := sizeOf(done)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return
	case r.size+size > r.options.Queue:
		r.dropped++
		return
	}
	r.queue = append(r.queue, &queued{Reconcile: done, size: size, since: time.Now()})
	if r.size += size; r.size > r.options.Queue/2 {
		r.hurry()
	}
}

// hurry wakes Run.
func (r *Recorder) hurry() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Remembered implements observe.Sink.
func (r *Recorder) Remembered(about observe.About, _ queue.Reason, _ remember.Source) {
	if !r.options.Filter.Selects(about) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remembered++
}

// The estimates of the memory that a reconcile needs in the queue. The current versions of the objects are in the caches too.
const (
	reconcileSize = 2 << 10
	objectSize    = 100     // in a set of the request
	answerSize    = 2 << 10 // of an object in an answer
)

// sizeOf estimates how much memory r needs while it waits.
func sizeOf(r *observe.Reconcile) int64 {
	size := int64(reconcileSize)
	for _, call := range r.Calls {
		size += reconcileSize + packedSize(call.Request.Parent)
		for _, set := range []*object.Set{call.Request.Children, call.Request.Related} {
			if set != nil {
				size += objectSize * int64(set.Len())
			}
		}
		if call.Response != nil && call.Response.Children != nil {
			size += answerSize * int64(call.Response.Children.Len())
		}
	}
	for _, write := range r.Writes {
		size += packedSize(write.Before) + packedSize(write.Stored)
	}
	return size
}

// packedSize returns the size of an object; an estimate if it is not packed.
func packedSize(o *object.Object) int64 {
	switch {
	case o == nil:
		return 0
	case o.Packed().IsZero():
		return answerSize
	}
	return int64(o.Packed().Size())
}

// take returns what waits to be written for at least hold, or all if there is much, and what waits longer.
func (r *Recorder) take(hold time.Duration) (due, waiting []*queued) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for hurry := r.size > r.options.Queue/2; n < len(r.queue) && (hurry || time.Since(r.queue[n].since) >= hold); n++ {
		r.size -= r.queue[n].size
	}
	due, r.queue = r.queue[:n:n], slices.Clone(r.queue[n:])
	return due, r.queue
}

// end makes the Recorder ignore everything else, and returns the End without what the Writer counts.
func (r *Recorder) end(why string) End {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.queue, r.size = nil, 0
	return End{Ended: time.Now().UTC(), Dropped: r.dropped, Remembered: r.remembered, Why: why}
}

// flushEvery is the period in which what is due is written.
const flushEvery = 500 * time.Millisecond

// flushBytes is how many bytes of lines, not compressed, are written at most between two flushes.
const flushBytes = 1 << 20

// Run writes the recording to w until ctx is done or a limit is reached. It returns what was recorded. The error is an ErrKnownTooLate, or
// that of w. After it has returned, the Recorder does nothing.
func (r *Recorder) Run(ctx context.Context, w io.Writer) (Progress, error) {
	defer r.end("")
	filter := r.options.Filter
	out, err := NewWriter(w, Header{Program: r.options.Program, Began: time.Now().UTC(), Filter: filter})
	if err != nil {
		return Progress{}, err
	}
	run := &run{Recorder: r, out: out, encoder: newEncoder(out, scrub.New())}
	if r.options.May == nil {
		run.options.May = func(object.Kind, string) bool { return true }
	}
	return run.until(ctx, filter.For)
}

// A run is one call of Run.
type run struct {
	*Recorder
	out     *Writer
	encoder *encoder
	denied  int

	recorded map[observe.About]bool // the parents with a reconcile; see unrecorded
}

// until writes until ctx is done, limit has passed or the size is reached.
func (r *run) until(ctx context.Context, limit time.Duration) (Progress, error) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	over := make(<-chan time.Time)
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	why := ""
	for r.look(); why == ""; {
		select {
		case <-ctx.Done():
			why = WhyStopped
		case <-over:
			why = WhyTime
		case <-tick.C:
		case <-r.wake:
		}
		hold := r.options.Hold
		if why != "" {
			hold = 0
		}
		reached, err := r.write(hold)
		switch {
		case errors.Is(err, ErrKnownTooLate):
			why = WhyLate
		case err != nil:
			return r.progress(), err
		case reached && why == "":
			why = WhyBytes
		}
	}
	last := r.end(why)
	last.Denied, last.Discard, last.Unrecorded = r.denied, why == WhyLate, r.unrecorded()
	end, err := r.out.Close(last)
	if err == nil && why == WhyLate {
		err = ErrKnownTooLate
	}
	return Progress{end, r.out.Bytes()}, err
}

// look adds the Secrets that are in caches and may be read. That one of them is new does not end the recording, since it may be of somebody
// who has nothing to do with what is recorded.
func (r *run) look() {
	if r.options.Secrets == nil {
		return
	}
	for _, o := range r.options.Secrets() {
		if r.encoder.scrub.Full() {
			return
		}
		if r.options.May(secretKind, o.GetNamespace()) {
			r.encoder.scrub.AddOther(o)
		}
	}
}

// judge finds out whether reconciles may be read, and adds the Secrets that those have seen.
func (r *run) judge(all []*queued) {
	for _, one := range all {
		if one.judged {
			continue
		}
		one.judged, one.denied = true, !mayBeRead(one.Reconcile, r.options.May)
		if one.denied {
			continue
		}
		r.addSecrets(one.Redactor)
	}
}

// addSecrets adds the Secrets that a reconcile has seen and that may be read. Credentials of webhooks may be of Secrets that may not.
func (r *run) addSecrets(of *redact.Redactor) {
	secrets, texts := of.Secrets()
	all := true
	for _, o := range secrets {
		if r.options.May(secretKind, o.GetNamespace()) {
			r.encoder.scrub.Add(o)
		} else {
			all = false
		}
	}
	for _, text := range texts {
		if all {
			r.encoder.scrub.AddText(text)
		}
	}
}

// write writes what waits for at least hold. It reports whether the size is reached.
func (r *run) write(hold time.Duration) (reached bool, err error) {
	due, waiting := r.take(hold)
	r.look() // before what is due is written, and after it was taken: so it has all Secrets that were read before
	r.judge(due)
	r.judge(waiting)
	for _, one := range due {
		if r.encoder.scrub.Late() {
			break
		}
		if one.denied {
			r.denied++
			continue
		}
		if err := r.encoder.reconcile(one.Reconcile); err != nil {
			return false, err
		}
		r.note(one.About)
		if r.out.Pending() > flushBytes {
			if reached, err = r.flush(); reached || err != nil {
				return reached, err
			}
		}
	}
	if r.encoder.scrub.Late() {
		return false, ErrKnownTooLate
	}
	return r.flush()
}

// flush writes what was compressed. It reports whether the size is reached.
func (r *run) flush() (reached bool, err error) {
	err = r.out.Flush()
	progress := r.progress()
	if r.options.Flushed != nil && err == nil {
		r.options.Flushed(progress)
	}
	limit := r.options.Filter.Bytes
	return limit > 0 && progress.Bytes >= limit, err
}

// progress returns what was recorded so far.
func (r *run) progress() Progress {
	progress := Progress{r.out.Counts(), r.out.Bytes()}
	r.mu.Lock()
	defer r.mu.Unlock()
	progress.Dropped, progress.Remembered, progress.Denied = r.dropped, r.remembered, r.denied
	return progress
}

// String returns the summary for a user.
func (p Progress) String() string {
	text := fmt.Sprintf("%d reconciles, %d calls, %d objects, %s", p.Reconciles, p.Calls, p.Objects, showBytes(p.Bytes))
	if p.Redacted > 0 {
		text += fmt.Sprintf(", %d objects with values of Secrets, which were replaced", p.Redacted)
	}
	if p.Dropped > 0 {
		text += fmt.Sprintf("; %d reconciles were dropped, since they could not be written fast enough", p.Dropped)
	}
	if p.Denied > 0 {
		text += fmt.Sprintf("; %d reconciles were not recorded, since you may not list all objects in them", p.Denied)
	}
	return text
}

// showBytes returns a size for a user.
func showBytes(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
