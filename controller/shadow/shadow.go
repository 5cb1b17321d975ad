// Package shadow compares a candidate for the script of a controller, which is in spec.shadow, with the script that runs.
//
//   - [Shadows] has the candidates of all controllers of a server. [Shadows.Update] is called each time a controller object is loaded,
//     and returns the [Report] for its status.
//   - shadowed.go has the candidate of one controller: it waits for edits and for reconciles to compare
//   - pass.go compares the parents that are not reconciled
//   - candidate.go reads and compiles a candidate, and calls it
//   - difference.go compares two answers, and what they would write
//   - report.go counts the results
//
// # What is compared
//
// Shadows is an observe.Sink: it is told of each reconcile in which hooks were called, with their requests and answers. The candidate
// gets the same requests, with the same time, and its answers are compared with the answers of the script that runs. So the candidate
// needs no objects of its own, and nothing is written, adopted or released for it. Of an answer that differs, the writes to the children
// are planned for both versions.
//
// When a candidate is loaded, it is also compared for the parents in the caches, without a reconcile; see pass. The script that runs is
// called for the same request, made quiet. If the customize hook of the candidate selects other related objects, that is the difference, and its
// sync hook is not called: it would have got other objects.
//
// # Why the version that runs is neither delayed nor changed
//
//   - A reconcile only adds itself to a queue, which is limited; see [weight]. If there is no room, the comparison is dropped and counted.
//   - A candidate is read, compiled and called by a goroutine of its own, which also calls the script that runs if there is no
//     reconcile. It makes one call at a time, with those of all controllers [calls] at a time, and rests after each comparison, so that
//     it uses at most one [share] of a CPU.
//   - In the engine it is another owner: its calls take turns with those of the version that runs.
//   - It has breakers of its own. If it exceeds limits [maxExceeded] times, it is stopped until it is edited.
//   - What it prints, its events and its calls are not in the log, the events and the metrics of the scripts.
//   - An edit of spec.shadow, or of its source, does not replace the version that runs; see build.Loaded.SameBinding.
package shadow

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"metascript/controller/account"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/references"
	"metascript/controller/related"
	"metascript/controller/remember"
	"metascript/controller/spec"
	"metascript/scripts"
)

// The budget of candidates.
const (
	calls       = 2       // how many comparisons of a server are made at the same time
	share       = 4       // a candidate rests so that it works a fourth of the time at most
	maxWaiting  = 1 << 10 // reconciles of one controller that wait to be compared
	maxWeight   = 8 << 10 // of all reconciles that wait; see weight
	maxExceeded = 10      // how often a candidate may exceed a limit before it is stopped
)

// Options are what Shadows need. MayLoad, Changed, Counts and Events may be nil.
type Options struct {
	References *references.Watcher                                             // of the ConfigMaps with candidates
	Related    *related.Caches                                                 // of all controllers
	MayLoad    func(who account.Account, configMaps []references.Object) error // whether a controller may load scripts from them
	Events     interface {
		Warning(o *object.Object, reason, format string, args ...any)
	} // on controller objects
	Counts  *metrics.Metrics
	Sinks   []observe.Sink // those that are ComparisonSinks are told of each comparison
	Changed func(spec.ID)  // is called when the report about a controller has changed. It must not block
	Log     *slog.Logger
}

// Shadows are the candidates of all controllers of a server. It is safe for concurrent use.
type Shadows struct {
	options Options
	sinks   []observe.ComparisonSink
	slots   chan struct{} // has a value for each comparison that is being made
	waiting atomic.Int64  // the weight of all reconciles that wait

	mu  sync.RWMutex // guards all
	all map[spec.ID]*shadowed

	under sync.WaitGroup // the goroutines of all
}

// New returns Shadows without a candidate.
func New(o Options) *Shadows {
	s := &Shadows{options: o, slots: make(chan struct{}, calls), all: map[spec.ID]*shadowed{}}
	for _, sink := range o.Sinks {
		if told, ok := sink.(observe.ComparisonSink); ok {
			s.sinks = append(s.sinks, told)
		}
	}
	return s
}

// An Input is a controller object as it was loaded.
type Input struct {
	Declaration *spec.Declaration // as it is written
	Object      *object.Object    // for events
	Builder     *build.Builder    // of the version that runs; nil: there is none. It is copied
	Live        *call.Version     // what runs; nil: nothing, or not what is written
	Binding     *binding.Binding  // of Live
	Leads       bool              // this server reconciles. Otherwise nothing is compared
}

// Update takes over a controller object. It returns the report about its candidate; nil if there is none. The candidate is read and
// compiled later, by a goroutine that ends when ctx is done.
func (s *Shadows) Update(ctx context.Context, in Input) *Report {
	d := in.Declaration
	if d.Settings.Shadow == nil && d.ShadowErr == nil {
		s.Forget(d.ID())
		return nil
	}
	s.mu.Lock()
	of := s.all[d.ID()]
	if of == nil && ctx.Err() == nil {
		of = newShadowed(s, d.ID())
		s.all[d.ID()] = of
		ctx, of.stop = context.WithCancel(ctx)
		s.under.Go(func() { of.run(ctx) })
	}
	s.mu.Unlock()
	if of == nil {
		return nil
	}
	return of.update(in)
}

// Forget drops the candidate of a controller, if there is one.
func (s *Shadows) Forget(id spec.ID) {
	s.mu.Lock()
	of := s.all[id]
	delete(s.all, id)
	s.mu.Unlock()
	if of != nil {
		of.stop()
	}
}

// Wait waits until all goroutines have ended, after the contexts of Update are done.
func (s *Shadows) Wait() { s.under.Wait() }

// FilesChanged makes the candidates be read again that are in files that have changed.
func (s *Shadows) FilesChanged(changes scripts.Changes) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, of := range s.all {
		if of.concernedBy(changes) {
			of.reload()
		}
	}
}

// Reconciled implements observe.Sink. It adds a reconcile to the queue of the candidate of its controller.
func (s *Shadows) Reconciled(r *observe.Reconcile) {
	s.mu.RLock()
	of := s.all[spec.ID{Kind: r.Kind, Name: r.Controller}]
	s.mu.RUnlock()
	if of != nil {
		of.offer(r)
	}
}

// Remembered implements observe.Sink. Without a call of a hook there is nothing to compare.
func (s *Shadows) Remembered(observe.About, queue.Reason, remember.Source) {}

// inSlot calls f while not more than so many candidates of the server are called. It returns how long f took. If ctx is done, f may
// not have been called.
func (s *Shadows) inSlot(ctx context.Context, f func()) time.Duration {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return 0
	}
	began := time.Now()
	f()
	return time.Since(began)
}

// warnAbout records an event on the controller object. If the controller has an account, users of all tenants may read the event, and the
// text for all is recorded.
func (s *Shadows) warnAbout(in *Input, reason, text, forAll string) {
	s.options.Log.Warn("shadow: "+reason, "controller", in.Object.GetName(), "message", text)
	if in.Declaration.Settings.ServiceAccount != nil {
		text = forAll
	}
	if s.options.Events != nil {
		line, _, _ := strings.Cut(text, "\n") // an event has one line
		s.options.Events.Warning(in.Object, reason, "%s", line)
	}
}

// sameInput reports whether two inputs have the same candidate and the same version that runs, on a server that leads in both or none.
func sameInput(a, b *Input) bool {
	return a != nil && a.Live == b.Live && a.Leads == b.Leads && a.Object.GetUID() == b.Object.GetUID() && a.Object.GetGeneration() == b.Object.GetGeneration() &&
		reflect.DeepEqual(a.Declaration.Settings.Shadow, b.Declaration.Settings.Shadow)
}

var _ observe.Sink = (*Shadows)(nil)
