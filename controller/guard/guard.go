// Package guard decides whether a new version of a controller may run, by what it would do for the parents that exist.
//
// A [Guard] belongs to one controller object. [Guard.Check] returns nil if a version may run, and otherwise an [*Error], while the
// version before it runs on. The first Check of a version begins to compute, in the background, what it would do and what the version
// before would do too, with package preview. When the result is known, the Guard asks for another Check. The result belongs to the version:
// it is computed once. A version with another spec or other scripts is another version. Only if a version was let through, but could not be
// activated for some time, it is computed again, since the parents may be other ones by then.
//
// limits.go compares what a version would do with its limits, and says it in words.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/preview"
	"metascript/controller/related"
)

// ApprovedAnnotation is an annotation on a controller object. Its value names the one version that is let through, as the message of
// the condition GuardPassed names it, whatever it would do.
const ApprovedAnnotation = "metacontroller.k8s.io/guard-approved"

// An Error says that a version does not run because of its guard.
type Error struct {
	Reason  string // of the condition GuardPassed
	Message string
	Counts  string // the Message without names of objects and texts of errors
	Pending bool   // it is not decided yet
	Idle    bool   // the version before must not be started in its place
}

func (e *Error) Error() string { return e.Message }

// of returns the *Error in err; nil if there is none.
func of(err error) *Error {
	var found *Error
	errors.As(err, &found)
	return found
}

// Holds reports whether err says that a version does not run because of its guard.
func Holds(err error) bool { return of(err) != nil }

// IsPending reports whether err says that a guard has not decided yet.
func IsPending(err error) bool { return Holds(err) && of(err).Pending }

// IsIdle reports whether err says that a version does not run, and that none must be started in its place: nothing runs. The controller
// was paused before, perhaps because of the version before.
func IsIdle(err error) bool { return Holds(err) && of(err).Idle }

// Reason returns the reason of the condition GuardPassed for an error that Holds.
func Reason(err error) string { return of(err).Reason }

// Counts returns the text of an error that Holds, without names of objects and texts of errors.
func Counts(err error) string { return of(err).Counts }

// A Side is a version of a controller of which is computed what it would do. It is closed with its Binding.
type Side struct {
	Binding *binding.Binding
	Hooks   build.Hooks
}

func (s *Side) close() {
	if s != nil {
		s.Binding.Close()
	}
}

// Options are what all Guards of a server share.
type Options struct {
	Caches    *related.Caches // of related objects
	Turns     chan struct{}   // limits how many Guards compute at the same time; see NewTurns
	TimeLimit time.Duration   // for one version, without waiting; zero: DefaultTimeLimit
	ValidFor  time.Duration   // how long a version that was let through can be activated; zero: DefaultValidFor
}

const (
	// DefaultTimeLimit is how long it may take to compute what a version would do.
	DefaultTimeLimit = 2 * time.Minute
	// DefaultValidFor is how long a version that was let through can be activated. After that, it is computed again what it would do.
	DefaultValidFor = time.Minute
)

const (
	turns   = 4 // how many Guards compute at the same time
	workers = 2 // how many parents of a controller are computed at the same time: reconciles go on, and need the CPU too
)

// NewTurns returns Options.Turns.
func NewTurns() chan struct{} { return make(chan struct{}, turns) }

// A Version is a version of a controller that is about to run.
type Version struct {
	*build.Candidate
	Built     build.Built
	Before    *build.Candidate // the version that runs, or else the last good one; nil if there is none, or if it is Lost
	Lost      bool             // nothing runs, and the last good version cannot be used
	Runs      bool             // Before runs
	Leads     bool             // this server decides
	Unlimited bool             // nothing is written, so that the limits do not apply

	// Open opens the version, or the one before.
	Open func(*build.Candidate) (*Side, error)
	// Changed is called when there is something else to report. It must not block.
	Changed func()
}

// A Guard decides about the versions of one controller object. The zero value has decided nothing. Check and Stop are called by one
// goroutine at a time.
type Guard struct {
	check  *check  // of the version that was checked last; nil: none was
	passed *Passed // the version that was let through last; nil: none was
	paused bool    // the controller was paused since a version ran
}

// Pause ends what is computed. Until a version is let through, none must be started in its place.
func (g *Guard) Pause() {
	g.Stop()
	g.paused = true
}

// Passed says why a version was let through, for the condition GuardPassed. Counts is the Message without names of objects and texts
// of errors.
type Passed struct{ identity, Reason, Message, Counts string }

// PassedAs returns why the version with that identity was let through; nil if it was not, or if the server has started since.
func (g *Guard) PassedAs(identity string) *Passed {
	if g.passed != nil && g.passed.identity == identity {
		return g.passed
	}
	return nil
}

// Limited reports whether the version has limits.
func (v *Version) Limited() bool { return v.Script != nil && v.Script.Guard != nil && !v.Unlimited }

// before returns the identity of the version before, or "".
func (v *Version) before() string {
	if v.Before == nil {
		return ""
	}
	return v.Before.Identity
}

// Check returns nil if v may run now, and otherwise an *Error, or the error of v.Open. What is computed in the background ends when
// ctx is done.
func (g *Guard) Check(ctx context.Context, v *Version, o Options) error {
	g.paused = g.paused && !v.Runs
	reason, message := v.passes()
	if reason == "" {
		return g.compute(ctx, v, o)
	}
	g.Stop()
	g.pass(v, reason, said{message, message})
	return nil
}

func (g *Guard) pass(v *Version, reason string, message said) {
	g.paused = false
	if message.whole != "" {
		g.passed = &Passed{v.Identity, reason, message.whole, message.counts}
	}
}

// A said is a message, and the same without names of objects and texts of errors.
type said struct{ whole, counts string }

// passes returns why v runs without computing what it would do; "" if it has to be computed. message is "" if v ran already before
// the server has started.
func (v *Version) passes() (reason, message string) {
	switch {
	case !v.Limited():
		return v1alpha1.ReasonNoGuard, NoGuard
	case v.Object.Annotation(ApprovedAnnotation) == Digest(v.Identity):
		return v1alpha1.ReasonGuardApproved, fmt.Sprintf("the annotation %s lets this version through", ApprovedAnnotation)
	case v.ran(), v.before() == v.Identity:
		return v1alpha1.ReasonWithinGuard, ""
	case v.isFirst():
		return v1alpha1.ReasonNothingToCompare, "it is the first version of this controller that runs"
	}
	return "", ""
}

// NoGuard is the message of the condition GuardPassed if the controller has no guard.
const NoGuard = "the controller has no guard"

// isFirst reports whether no version of the controller has run: neither this server nor the status knows of one.
func (v *Version) isFirst() bool {
	return v.Before == nil && !v.Lost && v.Status.ActiveGeneration == 0 && v.Status.Script == nil && !v.reported(v1alpha1.ConditionGuardPassed, reasons...)
}

// reasons are those of versions that do not run.
var reasons = []string{v1alpha1.ReasonGuardRunning, v1alpha1.ReasonGuardExceeded, v1alpha1.ReasonGuardIncomplete}

// reported reports whether a condition in the status has one of these reasons.
func (v *Version) reported(condition string, reasons ...string) bool {
	c := meta.FindStatusCondition(v.Status.Conditions, condition)
	return c != nil && slices.Contains(reasons, c.Reason)
}

// isIdle reports whether nothing runs because the controller was paused. The status says so, too, while a version is held after that.
func (g *Guard) isIdle(v *Version) bool {
	return !v.Runs && (g.paused || v.Status.ActiveGeneration == 0 && v.reported(v1alpha1.ConditionReady, v1alpha1.ReasonPaused, v1alpha1.ReasonNotRunning))
}

// ran reports whether v is what ran last, according to the status, which the server that leads has written: it was let through then.
func (v *Version) ran() bool {
	runs := v.Built.Status.Digest
	return v.Status.Script != nil && runs != "" && v.Status.ActiveGeneration == v.Object.GetGeneration() && v.Status.Script.Digest == runs
}

// Digest returns how texts and the annotation name the version with that identity.
func Digest(identity string) string { return "sha256:" + identity }

// Decided returns what the status of a controller object says of the decisions of the server that leads.
func Decided(o *object.Object) [3]string {
	active, _ := o.At("status", "activeGeneration")
	return [3]string{fmt.Sprint(active), o.TextAt("status", "script", "digest"), o.TextAt("status", "script", "givenUp")}
}

// compute returns the result for v. It begins to compute it if it has not.
func (g *Guard) compute(ctx context.Context, v *Version, o Options) error {
	idle := g.isIdle(v)
	if !v.Leads {
		g.Stop()
		return pending("the server that leads computes what this version would do", idle)
	}
	if g.check == nil || g.check.now != v.Identity || g.check.before != v.before() || g.check.isOld(cmp.Or(o.ValidFor, DefaultValidFor)) {
		g.Stop()
		now, err := v.Open(v.Candidate)
		if err != nil {
			return err
		}
		g.check = begin(ctx, v, now, o)
	}
	held, done, progress := g.check.result()
	switch {
	case !done:
		return pending(progress.whole, idle)
	case held != nil:
		how := v.letThrough()
		return &Error{Reason: held.Reason, Message: held.Message + how, Counts: held.Counts + how, Idle: idle}
	}
	g.check.use()
	g.pass(v, v1alpha1.ReasonWithinGuard, progress)
	return nil
}

func pending(progress string, idle bool) *Error {
	return &Error{Reason: v1alpha1.ReasonGuardRunning, Message: progress, Counts: progress, Pending: true, Idle: idle}
}

// Stop ends what is computed, and waits until it has ended. The next Check begins anew.
func (g *Guard) Stop() {
	if g.check != nil {
		g.check.stop()
		<-g.check.ended
		g.check = nil
	}
}

// A check computes what one version would do.
type check struct {
	now, before string // the identities of the versions
	stop        context.CancelFunc
	ended       chan struct{} // closed when it has ended

	used time.Time // when the result first let the version through; zero: it has not

	mu       sync.Mutex // guards the fields below
	done     bool
	held     *Error // why the version does not run; nil if it may, once it is done
	progress said   // what it waits for, or what was computed
}

func begin(ctx context.Context, v *Version, now *Side, o Options) *check {
	var before *Side
	if v.Before != nil {
		before, _ = v.Open(v.Before) // nil: it does not load any more, and nothing is compared with it
	}
	ctx, stop := context.WithCancel(ctx)
	c := &check{now: v.Identity, before: v.before(), stop: stop, ended: make(chan struct{}), progress: said{computing, computing}}
	limits, name, changed := v.Script.Guard, Digest(v.Identity), v.Changed
	go func() { // ends when what is computed is known, or soon after Stop
		defer close(c.ended)
		defer now.close()
		defer before.close()
		held, text := c.run(ctx, now, before, limits, name, changed, o)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.done, c.held, c.progress = true, held, text
		c.mu.Unlock()
		changed()
	}()
	return c
}

func (c *check) result() (held *Error, done bool, progress said) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held, c.done, c.progress
}

// use notes that the result lets the version through.
func (c *check) use() {
	if c.used.IsZero() {
		c.used = time.Now()
	}
}

// isOld reports whether the result has let the version through longer than that ago.
func (c *check) isOld(than time.Duration) bool { return !c.used.IsZero() && time.Since(c.used) >= than }

// computing is what a check reports at first.
const computing = "the server computes what this version would do"

// report says what the check waits for.
func (c *check) report(changed func(), progress string) {
	c.mu.Lock()
	c.progress = said{progress, progress}
	c.mu.Unlock()
	changed()
}

// errTimeLimit is the cause of a context that ends because of Options.TimeLimit.
var errTimeLimit = errors.New("it takes too long")

// run waits until it may compute, computes, and returns why the version is held, or nil; and what the version would do.
func (c *check) run(ctx context.Context, now, before *Side, limits *v1alpha1.ScriptGuard, name string, changed func(), o Options) (held *Error, text said) {
	defer func() {
		if r := recover(); r != nil {
			held = incomplete(name, preview.Summary{}, fmt.Errorf("panic, please report it: %v\n%s", r, debug.Stack()))
		}
	}()
	if !now.filled() || before != nil && !before.filled() {
		c.report(changed, "the server fills its caches, and then computes what this version would do")
	}
	if !now.wait(ctx) || before != nil && !before.wait(ctx) {
		return incomplete(name, preview.Summary{}, errors.New("its caches were closed")), said{}
	}
	select {
	case o.Turns <- struct{}{}:
	default:
		c.report(changed, "the server computes what new versions of other controllers would do, and then what this version would do")
		select {
		case o.Turns <- struct{}{}:
		case <-ctx.Done():
			return nil, said{}
		}
	}
	defer func() { <-o.Turns }()
	c.report(func() {}, computing)
	limit := cmp.Or(o.TimeLimit, DefaultTimeLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: the limit is %s", errTimeLimit, limit))
	defer cancel()
	summary, err := summarize(ctx, now, before, o.Caches)
	if err != nil {
		return incomplete(name, summary, err), said{}
	}
	return judge(limits, name, &summary)
}

// summarize computes what now would do that before would not do.
func summarize(ctx context.Context, now, before *Side, caches *related.Caches) (preview.Summary, error) {
	began := time.Now()
	clock := func() time.Time { return began } // both see the same time
	candidate := preview.New(now.Binding, now.Hooks, caches, clock)
	defer candidate.Close()
	var against *preview.Previewer
	if before != nil {
		against = preview.New(before.Binding, before.Hooks, caches, clock)
		defer against.Close()
	}
	var s preview.Summary
	err := candidate.All(ctx, workers, against, s.Add)
	return s, err
}

// filled reports whether the caches are filled.
func (s *Side) filled() bool {
	return !slices.ContainsFunc(s.Binding.Caches(), func(cache *informer.Informer) bool { return !cache.HasSynced() })
}

// wait waits until the caches are filled, and reports whether they are. It returns false if ctx is done before.
func (s *Side) wait(ctx context.Context) bool {
	for _, cache := range s.Binding.Caches() {
		if !cache.WaitForSync(ctx) {
			return false
		}
	}
	s.Binding.Clients.Credentials.WaitForSyncOrError(ctx)
	return ctx.Err() == nil
}
