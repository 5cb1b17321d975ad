package shadow

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/hook"
	"metascript/controller/observe"
	"metascript/controller/redact"
	"metascript/controller/spec"
	"metascript/engine/stack"
	"metascript/scripts"
)

// A shadowed is a controller with a candidate.
type shadowed struct {
	of   *Shadows
	id   spec.ID
	stop context.CancelFunc
	wake chan struct{} // has a value when the candidate is to be read again
	jobs chan *job

	current atomic.Pointer[candidate]      // nil: no candidate is loaded, or it was stopped
	missed  atomic.Bool                    // a reconcile was dropped, so that a parent may not have been compared
	pass    *pass                          // of current, or of the one before; nil: it has not begun. Only the goroutine uses it
	reads   atomic.Pointer[scripts.Wanted] // the source that was last read; nil before

	mu        sync.Mutex // guards the fields below
	input     *Input     // nil before the first update
	report    Report     // as it was published last, with its Counts and First
	tally     *tally     // of current, or of the candidate that was stopped. Only the goroutine changes the pointer and the parents
	published time.Time
}

func newShadowed(of *Shadows, id spec.ID) *shadowed {
	return &shadowed{
		of: of, id: id, wake: make(chan struct{}, 1), jobs: make(chan *job, maxWaiting),
		report: Report{Waiting: loading, Share: 100}, tally: newTally(),
	}
}

const loading = "the candidate is being loaded"

// A job is a reconcile to compare.
type job struct {
	candidate *candidate
	about     observe.About
	uid       types.UID
	began     time.Time
	calls     []observe.Call
	redactor  *redact.Redactor // with the Secrets that the reconcile has seen
	weight    int64
}

// weight is about how much memory the answers of a reconcile keep, in children.
func weight(r *observe.Reconcile) int64 {
	n := int64(1)
	for _, c := range r.Calls {
		if c.Response != nil && c.Response.Children != nil {
			n += int64(c.Response.Children.Len())
		}
	}
	return n
}

// update takes over a controller object as it is now, and returns the report.
func (s *shadowed) update(in Input) *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := !sameInput(s.input, &in)
	s.input = &in
	if changed || s.report.Err != nil && s.report.Waiting == "" {
		s.reload()
	}
	report := s.report
	return &report
}

// reload makes the goroutine read the candidate again.
func (s *shadowed) reload() {
	select {
	case s.wake <- struct{}{}:
	default: // it is about to do it
	}
}

// concernedBy reports whether changes in files may have changed the candidate.
func (s *shadowed) concernedBy(changes scripts.Changes) bool {
	wanted := s.reads.Load()
	return wanted != nil && changes.Concern(*wanted)
}

// offer adds a reconcile to the queue. A worker calls it, so that it does not wait.
func (s *shadowed) offer(r *observe.Reconcile) {
	c := s.current.Load()
	if c == nil || r.Script != c.live || !isShared(r.UID, c.share) || !c.covers(r.Calls) {
		return
	}
	w := weight(r)
	if waiting := s.of.waiting.Add(w); waiting > maxWeight && waiting > w {
		s.of.waiting.Add(-w)
		s.drop(c)
		return
	}
	j := &job{candidate: c, about: observe.About{Kind: r.Kind, Controller: r.Controller, Parent: r.Parent.Clone()}, uid: r.UID, began: r.Began, calls: r.Calls, weight: w}
	j.redactor = redact.New(r.Parent.Kind.Kind, r.Parent.Namespace, r.Parent.Name, r.Controller).AddPast(r.Redactor)
	_, texts := r.Redactor.Secrets()
	j.redactor.AddTexts(texts...)
	select {
	case s.jobs <- j:
	default:
		s.of.waiting.Add(-w)
		s.drop(c)
	}
}

// isShared reports whether a parent is among a percentage of the parents. It is always the same for a parent.
func isShared(parent types.UID, percent int) bool {
	if percent >= 100 {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(parent))
	return h.Sum32()%100 < uint32(percent)
}

// drop counts a reconcile that cannot be compared since the candidate cannot keep up.
func (s *shadowed) drop(c *candidate) {
	s.of.options.Counts.Controller(s.id.Kind, s.id.Name).Compared(string(observe.Dropped), 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Load() == c {
		s.tally.Dropped++
		s.missed.Store(true)
	}
}

// run reads the candidate when it may have changed, and compares, until ctx is done. Reconciles are compared before the parents of
// the pass.
func (s *shadowed) run(ctx context.Context) {
	stack.Grow()
	defer s.end()
	tick := time.NewTicker(publishSoon)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-s.wake:
			s.guarded(func() { s.load(ctx) })
		case j := <-s.jobs:
			s.compareNext(ctx, j)
		default:
			passed := false
			s.guarded(func() { passed = s.passOn(ctx) })
			if !passed {
				s.wait(ctx, tick.C)
			}
		}
		s.publish()
	}
}

// wait waits until there is something to do.
func (s *shadowed) wait(ctx context.Context, tick <-chan time.Time) {
	select {
	case <-ctx.Done():
	case <-s.wake:
		s.reload()
	case j := <-s.jobs:
		s.compareNext(ctx, j)
	case <-tick:
	}
}

// compareNext compares the candidate for a reconcile that was in the queue.
func (s *shadowed) compareNext(ctx context.Context, j *job) {
	s.of.waiting.Add(-j.weight)
	if j.candidate == s.current.Load() {
		s.guarded(func() { s.compare(ctx, j) })
	}
}

// end gives back what the goroutine has taken.
func (s *shadowed) end() {
	s.current.Store(nil)
	s.pass.close()
	if s.of.options.References != nil {
		s.of.options.References.Leave(s)
	}
	for {
		select {
		case j := <-s.jobs:
			s.of.waiting.Add(-j.weight)
		default:
			return
		}
	}
}

// guarded calls f. A panic, which is a fault of ours, must not end the server: the candidate is given up.
func (s *shadowed) guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.of.options.Log.Error("panic in a comparison, please report it", "controller", s.id.Name, "panic", p, "stack", string(debug.Stack()))
			s.set(nil, Report{Err: fmt.Errorf("panic: %v", p)})
		}
	}()
	f()
}

// load reads the candidate and compiles it, unless it is the one that is compared already.
func (s *shadowed) load(ctx context.Context) {
	s.mu.Lock()
	in := s.input
	s.mu.Unlock()
	if in == nil {
		return
	}
	c, err := s.read(ctx, in)
	switch before := s.current.Load(); {
	case ctx.Err() != nil:
	case c == nil && err == nil:
		s.set(nil, Report{Waiting: "nothing is compared until spec.script runs as it is written, see the condition Ready"})
	case err != nil:
		s.set(nil, Report{Err: err})
	case before != nil && before.key == c.key:
	case s.isStopped(c.key):
	default:
		if err := s.build(ctx, in, c); err != nil {
			s.set(nil, Report{Err: err})
			return
		}
		s.set(c, Report{Source: c.source, Digest: c.digest, Share: c.share, key: c.key})
	}
}

// isStopped reports whether the candidate with that key was stopped.
func (s *shadowed) isStopped(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report.Stopped != nil && s.report.key == key
}

// set begins to compare another candidate, or none.
func (s *shadowed) set(c *candidate, r Report) {
	s.pass.close()
	s.pass = nil
	s.mu.Lock()
	s.current.Store(c)
	s.tally = newTally()
	if r.Share == 0 {
		r.Share = 100
	}
	changed := !sameReport(&s.report, &r)
	s.report, s.published = r, time.Now()
	s.mu.Unlock()
	if changed {
		s.changed()
	}
}

func sameReport(a, b *Report) bool {
	return a.Waiting == b.Waiting && errorText(a.Err) == errorText(b.Err) && errorText(a.Stopped) == errorText(b.Stopped) &&
		a.key == b.key && a.Counts == b.Counts && a.First == b.First
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *shadowed) changed() {
	if s.of.options.Changed != nil {
		s.of.options.Changed(s.id)
	}
}

// compare calls the candidate for a reconcile, counts the result and rests.
func (s *shadowed) compare(ctx context.Context, j *job) {
	var found *observe.Comparison
	took := s.of.inSlot(ctx, func() { found = j.candidate.compare(ctx, j) })
	if ctx.Err() != nil {
		return
	}
	s.note(j.candidate, found)
	s.rest(ctx, (share-1)*took)
}

// note counts a comparison, and tells of it.
func (s *shadowed) note(c *candidate, found *observe.Comparison) {
	s.of.options.Counts.Controller(s.id.Kind, s.id.Name).Compared(string(found.Result), found.Took)
	for _, sink := range s.of.sinks {
		sink.Compared(found)
	}
	s.mu.Lock()
	isFirst := s.tally.first == nil
	s.tally.note(found)
	first, in := s.tally.first, s.input
	isFirst = isFirst && first != nil
	if c.exceeded >= maxExceeded {
		s.report.Stopped = found.Err
		s.current.Store(nil)
		s.published = time.Time{}
	}
	s.mu.Unlock()
	if isFirst {
		s.of.warnAbout(in, "ShadowDiffers", fmt.Sprintf("for the parent %s: %s", first.Parent, first.Text), "the answers differ for a parent")
	}
	if c.exceeded >= maxExceeded {
		stopped := fmt.Sprintf("the candidate in spec.shadow exceeded its limits %d times and is not called any more", maxExceeded)
		s.of.warnAbout(in, "ShadowStopped", fmt.Sprintf("%s: %v", stopped, found.Err), stopped)
		s.publishNow()
		return
	}
	s.publish()
}

// rest waits, so that the candidate does not use more than its share of a CPU. An edit ends it.
func (s *shadowed) rest(ctx context.Context, d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-end.C:
	case <-ctx.Done():
	case <-s.wake:
		s.reload()
	}
}

// publish makes the counts part of the report if that is due.
func (s *shadowed) publish() {
	s.mu.Lock()
	due := isDue(s.report.Counts, s.tally.Counts, time.Since(s.published))
	s.mu.Unlock()
	if due {
		s.publishNow()
	}
}

func (s *shadowed) publishNow() {
	s.survey(0)
	s.mu.Lock()
	if s.pass != nil {
		s.report.Left, s.tally.Done = s.pass.left, s.pass.done
	}
	s.report.Counts, s.report.First, s.published = s.tally.Counts, s.tally.first, time.Now()
	s.mu.Unlock()
	s.changed()
}

// covers reports whether one of the calls is of a hook that the candidate has.
func (c *candidate) covers(calls []observe.Call) bool {
	for _, one := range calls {
		if one.Name != hook.Customize && c.compares(one) {
			return true
		}
	}
	return false
}
