// Package children plans and does the writes to the children of one parent: [Writer]. What it remembers between the reconciles
// of the parent is a [Memory].
package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/apiserver"
	"metascript/controller/binding"
	"metascript/controller/claim"
	"metascript/controller/compared"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/ownership"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/throttle"
	"metascript/engine/stack"
)

// A Writer plans and does the writes to the children of one parent in one reconcile.
type Writer struct {
	Binding *binding.Binding
	Events  Events
	Log     *slog.Logger
	Memory  *Memory // of the parent

	// Extra limits how many writes are sent in addition to one for each Writer that applies; all Writers of a server share it. With nil,
	// each write is sent when the one before has ended.
	Extra *Extra

	// DryRuns limits how many children, of which the answer has not changed, are compared by a dry run before they are recreated; all
	// Writers of a controller share it. With nil, there is no limit.
	DryRuns *rate.Limiter

	// Replacements limits which children are recreated in a full quota; all Writers of a server share it.
	Replacements *Replacements

	// Compared remembers how the children of the parent compared with the answer; nil remembers nothing.
	Compared *compared.Memory

	// Requested says that a user requested the reconcile, so that values that the API server stored with another meaning are written again.
	Requested bool

	// Lost is the Losses of the Memory before the children were observed; see mayCreate.
	Lost uint64

	// Metrics counts writes that are delayed because something else undoes them each time; nil counts nothing.
	Metrics *metrics.Controller

	// Suppressed is called by ReportSuppressed with all writes that are suppressed; nil is not called.
	Suppressed func([]plan.Op)

	response *hook.Response // of which the children are planned
	missing  bool           // a child does not exist yet, or not again, so that it will use more of a quota than now

	// unfinished says that a child, which may have a random value that the hook does not return in another Secret any more, cannot be
	// planned, must not be updated, or is deleted to be created again.
	unfinished bool

	unserved unserved // kinds that Apply could not create
	refused  int      // how many writes in Apply failed because of a field
	failing  int      // how many writes of one block failed one after the other
	failed   int      // how many of them failed

	// mu is locked while Apply runs, except while a write is being sent. So nothing else of a Writer and its Memory is concurrent.
	mu sync.Mutex
}

// Events records events on a parent.
type Events interface {
	Normal(parent *object.Object, reason, format string, args ...any)
	Warning(parent *object.Object, reason, format string, args ...any)
}

// Plan returns the writes that make the children what the hook returned. It returns none if the parent is being deleted and the
// controller does not delete the children itself. The error is about the children that cannot be planned; the plan has the
// others.
func (w *Writer) Plan(ctx context.Context, parent *object.Object, children *object.Set, response *hook.Response) (plan.Plan, error) {
	if object.Deleting(parent) && !w.Binding.FinalizesChildren(parent) {
		return plan.Plan{}, nil
	}
	w.response = response
	w.Memory.beginRetries(w.Requested)
	if w.Requested {
		w.Memory.forgetSpelled()
	}
	w.Memory.prune(children, response.Children, time.Now())
	w.Replacements.observe(children, response.Children, w.Memory)
	if err := w.findKept(ctx, parent, children, response.Children); err != nil {
		return plan.Plan{}, err
	}
	lacking, ending := lacksChild(children, response.Children)
	policy := w.Policy(parent, response.Holders)
	policy.Stopped = func() error { // it is called for each child
		runtime.Gosched() // thousands of children take long
		return ctx.Err()
	}
	planned, err := plan.Children(children, response.Children, policy)
	for _, op := range planned.Applied {
		err = errors.Join(err, policy.NoteWritten(op, op.Observed))
	}
	if len(planned.Applied) > 0 {
		planned.Applied = nil // they are remembered, and may be large
		w.Memory.spells.Store(w.Memory.written.Spells())
	}
	if err == nil {
		planned.Ops = append(planned.Ops, retrier{w}.plan(parent, children, planned.Ops)...)
	} else {
		w.Memory.retried = nil
	}
	w.missing, w.unfinished = lacking, ending || err != nil
	if response.Finalized && object.Deleting(parent) {
		// The parent is about to be gone, and the garbage collector would delete what we create.
		planned.Ops = slices.DeleteFunc(planned.Ops, plan.Op.Creates)
	}
	return planned, err
}

// lacksChild reports whether a desired child does not exist, or is being deleted, and whether one is being deleted.
func lacksChild(observed, desired *object.Set) (lacking, ending bool) {
	for want := range desired.All() {
		have := observed.Get(want.GroupVersionKind(), object.KeyOf(want))
		lacking = lacking || have == nil
		ending = ending || have != nil && object.Deleting(have)
	}
	return lacking || ending, ending
}

// Rolling returns the writes to existing children of kinds that roll which are not as latest, the response for the latest revision, has
// them; see observe.PlanObserver. A child that does not exist is created at once, and one that is not desired any more is deleted.
func (w *Writer) Rolling(ctx context.Context, parent *object.Object, children *object.Set, latest *hook.Response) (writes []observe.Write) {
	have, want := &object.Set{}, &object.Set{}
	for o := range latest.Children.Added() {
		if child := children.Get(o.GroupVersionKind(), object.KeyOf(o)); child != nil && w.Binding.Rules[o.GroupVersionKind()].Rolls() {
			have.Put(child)
			want.Put(o)
		}
	}
	planned, _ := plan.Children(have, want, w.Policy(parent, latest.Holders)) // an error is returned again when the step is planned
	for _, op := range planned.Ops {
		after := op.Updated // of a Delete
		if op.Verb == plan.Update {
			after = op.Object
		}
		writes = append(writes, observe.Write{Op: op, Before: have.Get(op.Object.GroupVersionKind(), object.KeyOf(op.Object)), Stored: after, Redactor: redact.FromContext(ctx)})
	}
	return writes
}

// Policy returns how the children of a parent are compared and written. holders are those of the response that returned them.
func (w *Writer) Policy(parent *object.Object, holders hook.Holders) plan.Policy {
	return plan.Policy{
		Rules: w.Binding.Rules, InPlace: holders.Has, ServerSide: w.Binding.ServerSide, Memory: w.Memory.written, Kept: w.Memory.keptFields(), Requested: w.Requested, Compared: w.Compared,
		SetControllerReference: func(child *object.Object) error { return w.Binding.Claimer.SetControllerReference(parent, child) },
		Owned:                  w.Binding.Owned,
	}
}

// Apply does all ops, also after one has failed. It returns the time after which to try again those that were delayed; zero if
// none was. Writes to objects of one kind are sent at the same time, if Extra permits it. A kind begins when the one before it in ops
// has ended, because it may need the other kind, such as its Namespace. Deletions are not mixed with other writes. Writes by which a Secret
// loses a random value are the last ones, and are not done unless all others are. After maxFailing failures in a row, or maxFailingInAll, the other
// writes of this block
// are left to the next reconcile, which begins with them. It ends when ctx is done.
func (w *Writer) Apply(ctx context.Context, parent *object.Object, ops []plan.Op, to plan.Writer) (time.Duration, error) {
	gone := w.Memory.mayCreate(ctx, parent, ops, w.Lost, w.Binding.GetLive)
	if gone != nil {
		ops = slices.DeleteFunc(slices.Clone(ops), plan.Op.Creates)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missing = w.missing || slices.ContainsFunc(ops, plan.Op.Creates)
	losing := w.losing(ops)
	loses := func(op plan.Op) bool { return losing[writtenTo(op)] }
	if len(losing) > 0 {
		ops = append(slices.DeleteFunc(slices.Clone(ops), loses), slices.DeleteFunc(slices.Clone(ops), func(op plan.Op) bool { return !loses(op) })...)
	}
	of := func(op plan.Op) block { return blockOf(op, loses(op)) }
	ops = w.Memory.inTurn(ops, of)
	var again time.Duration
	errs, failed, left := make([]error, len(ops)), false, 0
	for begin := 0; begin < len(ops); {
		end := begin + 1
		for end < len(ops) && independent(ops[begin], ops[end]) && loses(ops[begin]) == loses(ops[end]) {
			end++
		}
		if begin == 0 || of(ops[begin-1]) != of(ops[begin]) {
			w.failing, w.failed = 0, 0
		}
		unfinished := w.unfinished || again > 0 || left > 0 || failed
		w.each(end-begin, func(i int) {
			i += begin
			if errs[i] = ctx.Err(); errs[i] != nil {
				return // each write would fail
			}
			if w.failing >= maxFailing || w.failed >= maxFailingInAll {
				left++
				w.Memory.leave(of(ops[i]), ops[i])
				return
			}
			if unfinished && loses(ops[i]) {
				w.Log.Info("a random value stays in a Secret, since it may be the only one that has it yet", "parent", object.RefOf(parent), "child", object.RefOf(ops[i].Object))
				return // the write that failed, or waits, is tried again
			}
			wait, err := w.applyOne(ctx, parent, ops[i], to)
			err = retrier{w}.end(ops[i], err)
			again, errs[i], failed = throttle.Shorter(again, wait), err, failed || err != nil
			w.noteFailure(wait, err)
		})
		begin = end
	}
	err := kube.Join(append(errs, gone)...)
	if left > 0 && apiserver.Held(err) == nil {
		err = kube.Join(err, fmt.Errorf("%d more children are left to the next try, since %d writes to children of their kinds failed one after the other, or %d in all", left, maxFailing, maxFailingInAll))
	}
	return again, err
}

// losing returns the Secrets from which one of ops would remove a random value that the hook has passed back, most likely for another one.
// That yet another Secret has the value does not count, since the hook may not read it there.
func (w *Writer) losing(ops []plan.Op) map[types.UID]bool {
	if w.response == nil || len(w.response.Holders) == 0 {
		return nil
	}
	losing := map[types.UID]bool{}
	for _, op := range ops {
		if secret := writtenTo(op); !op.Keeps(w.response.Holders[secret]) {
			losing[secret] = true
		}
	}
	return losing
}

// writtenTo returns the UID of the existing object to which op writes; "" if it creates one.
func writtenTo(op plan.Op) types.UID { return cmp.Or(op.Observed, op.Object).GetUID() }

// independent reports whether two ops, which follow each other, can be done at the same time.
func independent(a, b plan.Op) bool {
	return a.Object.GroupVersionKind() == b.Object.GroupVersionKind() && (a.Verb == plan.Delete) == (b.Verb == plan.Delete)
}

// each calls do with each number below n, and returns when all calls have returned. The calls are made with mu locked, and in goroutines
// as far as Extra permits it. A panic of a call is one of each, so that it does not end the process.
func (w *Writer) each(n int, do func(int)) {
	var others sync.WaitGroup
	panicked := ""
	call := func(i int) {
		defer func() {
			if recovered := recover(); recovered != nil {
				panicked = fmt.Sprintf("%v\n%s", recovered, debug.Stack())
			}
		}()
		do(i)
	}
	sharer := w.Extra.begin(w.Binding.Sharer())
	defer sharer.end()
	for i := range n {
		if i == n-1 || !sharer.take() {
			call(i)
			continue
		}
		others.Go(func() {
			defer sharer.giveBack()
			stack.Grow()
			w.mu.Lock()
			defer w.mu.Unlock()
			call(i)
		})
	}
	w.mu.Unlock()
	others.Wait()
	w.mu.Lock()
	if panicked != "" {
		panic(panicked)
	}
}

// noteFailure counts a write that failed with err, or ends the count if it was done. One that waits is neither.
func (w *Writer) noteFailure(wait time.Duration, err error) {
	switch {
	case err != nil && !errors.Is(err, kube.ErrRequeue):
		w.failing++
		w.failed++
	case err == nil && wait == 0:
		w.failing = 0
	}
}

// applyOne does op, and the write that follows if op is a dry run that shows a difference. If op has to wait, it does nothing
// and returns how long.
func (w *Writer) applyOne(ctx context.Context, parent *object.Object, op plan.Op, to plan.Writer) (time.Duration, error) {
	if wait := max(w.delayUpdate(ctx, parent, op), w.delayDelete(parent, op)); wait > 0 {
		return wait, nil
	}
	if err := w.unserved.refuse(op, w.Binding.Kinds); err != nil {
		return 0, err
	}
	if wait := cmp.Or(w.tightDelay(op), w.confirmDelay(op)); wait > 0 {
		return wait, nil
	}
	if confirm, needed := op.Confirm(); needed {
		t := trial{w, parent, confirm, to}
		if wait, done, err := t.confirm(ctx, &op); done || err != nil {
			return wait, err
		}
	}
	if try, needed := op.Try(); needed {
		if wait, err := w.try(ctx, parent, try, to); wait > 0 || err != nil {
			return wait, err
		}
	}
	stored, warnings, err := w.do(ctx, parent, op, to)
	switch {
	case op.Creates() && kube.NamespaceTerminating(err):
		return w.namespaceDelay(parent, op), nil
	case errors.Is(err, plan.ErrImmutable):
		t := trial{w, parent, op, to}
		return t.recreateImmutable(ctx)
	case op.Annotates() && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)):
		w.Log.Info("the child is as desired, and cannot be updated to record that", "child", object.RefOf(op.Object), "error", err)
		return w.rolloutDelay(op, op.Object), w.noteWritten(ctx, parent, op, op.Object, nil)
	case err != nil:
		w.Replacements.failed(op, err, w.Memory)
		w.unserved.note(err)
		return 0, w.writeError(ctx, parent, op, err, to)
	}
	w.countWrite(op, stored)
	if op.Verb == plan.DryRun {
		t := trial{w, parent, op, to}
		differs, err := t.changes(ctx, stored)
		if err != nil {
			return 0, err
		}
		if next := plan.AfterDryRun(op, stored, differs); next != nil {
			return w.applyOne(ctx, parent, *next, to)
		}
	}
	if op.Verb == plan.Delete {
		w.unfinished = w.unfinished || op.Wanted != nil
		return 0, nil
	}
	if op.Wanted == nil {
		return 0, nil
	}
	if op.Verb == plan.DryRun {
		stored = op.Observed // the result may be another one at each write
	}
	return w.rolloutDelay(op, stored), w.noteWritten(ctx, parent, op, stored, warnings)
}

// maxFailed is how many writes of one reconcile that fail for the same kind of reason are looked into.
const maxFailed = 20

// An unserved counts creations of children of kinds that the API server does not serve.
type unserved int

// refuse returns the error for the creation of a child of a kind that is not declared, if maxFailed before had kinds that the API server does
// not serve: each costs a request, and only an answer that is wrong as a whole has so many.
func (n unserved) refuse(op plan.Op, declared map[object.Kind]bool) error {
	if _, known := declared[op.Object.GroupVersionKind()]; known || n < maxFailed {
		return nil
	}
	return fmt.Errorf("create %s: it is not tried, since the API server does not serve the kinds of %d other objects", object.Describe(op.Object), n)
}

// note counts a creation that failed with err.
func (n *unserved) note(err error) {
	if missing := (*kube.NotServedError)(nil); errors.As(err, &missing) {
		*n++
	}
}

// try does the dry run that has to show that a child can be created again, before it is deleted. If a quota has room for it only in place
// of the existing one, none of the namespace is recreated before the child exists again, since both would need the room. If it needs more than
// the existing one, no other child of the parent may be missing either. Otherwise one may that does not exist yet: it is created after this one.
func (w *Writer) try(ctx context.Context, parent *object.Object, try plan.Op, to plan.Writer) (wait time.Duration, err error) {
	_, _, err = w.do(ctx, parent, try, to)
	full := errors.Is(err, plan.ErrTight)
	switch {
	case kube.NamespaceTerminating(err):
		return w.namespaceDelay(parent, try), nil
	case err != nil && !full:
		return 0, err
	case full && w.Memory.waitsForOwn(try.Object.GetNamespace()):
		return replacementTimeout, nil
	case w.missing && errors.Is(err, plan.ErrGrows), full && !w.Replacements.begin(try.Observed, w.Memory), !full && w.Replacements.waits(try.Object.GetNamespace()):
		return tightPollInterval, nil
	}
	w.missing = true
	return 0, nil
}

// tightDelay returns how long op, which creates or may recreate a child, has to wait because another one takes its own place in a full quota;
// zero if it does not wait.
func (w *Writer) tightDelay(op plan.Op) time.Duration {
	switch recreates := op.Replacement != nil || op.Recreates; {
	case recreates && w.Replacements.waits(op.Object.GetNamespace()), op.Creates() && w.Replacements.precedes(op.Object, w.Memory):
		return tightPollInterval
	}
	return 0
}

// confirmDelay returns how long op has to wait because it needs a dry run and too many were done in a short time, such as after a
// restart; zero if it does not wait.
func (w *Writer) confirmDelay(op plan.Op) time.Duration {
	_, confirms := op.Confirm()
	if w.DryRuns == nil || !op.Answered && !op.Doubtful || !confirms && op.Verb != plan.DryRun {
		return 0
	}
	next := w.DryRuns.Reserve()
	wait := next.Delay()
	if wait > 0 {
		next.Cancel()
	}
	return wait
}

// do does op. It returns the object that is stored, and the warnings of the API server, which it also reports. If the API server does
// not accept that a null removes a field, which must have a value, the field stays.
func (w *Writer) do(ctx context.Context, parent *object.Object, op plan.Op, to plan.Writer) (*object.Object, []string, error) {
	ctx, collected := kube.CollectWarnings(ctx)
	stored, err := w.send(ctx, op, to)
	if (op.Plain != nil || op.Cleared != nil) && apierrors.IsInvalid(err) {
		op.Object, op.Cleared = cmp.Or(op.Plain, op.Object), nil
		if again, refused := w.send(ctx, op, to); refused == nil {
			stored, err = again, nil
		}
	}
	if field, refused := kube.Refused(err); refused {
		err = withNulls(op, field, err)
		if w.refused++; w.refused <= maxFailed { // the others are only counted, see kube.Join
			err = w.response.Locate(w.response.ChildField(op.Object, hook.Field{Path: field}), err)
		}
	}
	warnings := collected.Texts()
	if err == nil {
		delete(w.Memory.unknown, object.RefOf(op.Object))
	}
	w.reportWarnings(ctx, parent, op.Object, warnings)
	return stored, warnings, err
}

// maxNulls is how many fields a hint names.
const maxNulls = 5

// withNulls adds to the error of an update which fields the hook can return as null, if one that it does not return may be why the API
// server refuses another one.
func withNulls(op plan.Op, refused string, err error) error {
	fields := op.Unreturned(refused)
	if len(fields) == 0 || len(fields) > maxNulls || fields[0] != refused && !strings.Contains(err.Error(), refused+": Forbidden: ") {
		return err
	}
	return fmt.Errorf("%w; the child has %s, which the hook does not return: return null for it to remove it", err, strings.Join(fields, " and "))
}

// send does op without the lock.
func (w *Writer) send(ctx context.Context, op plan.Op, to plan.Writer) (*object.Object, error) {
	w.mu.Unlock()
	defer w.mu.Lock()
	if op.Verb != plan.Delete {
		return to.Do(ctx, op)
	}
	child := object.UIDOf(op.Object)
	w.Memory.losses.deleting(child)
	stored, err := to.Do(ctx, op)
	if err != nil {
		w.Memory.losses.kept(child)
	}
	return stored, err
}

// namespacePollInterval is how often the creation of a child is tried while its namespace is being deleted.
const namespacePollInterval = 30 * time.Second

// namespaceDelay returns how long op has to wait because the namespace of the child that it creates is being deleted. It records
// an event if the parent is in another namespace; none can be recorded in this one, and the parent is most often deleted too.
func (w *Writer) namespaceDelay(parent *object.Object, op plan.Op) time.Duration {
	w.Log.Debug("namespace is being deleted", "parent", object.RefOf(parent), "op", op.String())
	if parent.GetNamespace() != op.Object.GetNamespace() {
		w.Events.Warning(parent, "NamespaceTerminating", "%s is not created, since its namespace is being deleted", object.Describe(op.Object))
	}
	return namespacePollInterval
}

// rolloutDelay returns the time after which to reconcile again because op has shown that a child of a kind that rolls is up to
// date; zero otherwise. The rollout may go on then, and no event queues the parent because nothing changed.
func (w *Writer) rolloutDelay(op plan.Op, stored *object.Object) time.Duration {
	if !w.Binding.Rules[stored.GroupVersionKind()].Rolls() || op.Creates() || !unchanged(op, stored) {
		return 0
	}
	return throttle.MinResync
}

// unchanged reports whether op, with this result, has not changed an existing child.
func unchanged(op plan.Op, stored *object.Object) bool {
	before := op.Object // of an Update
	if op.Observed != nil {
		before = op.Observed
	}
	return stored.GetResourceVersion() == before.GetResourceVersion()
}

// writeError returns the error of a reconcile in which op failed with err; nil if the failure does not matter.
func (w *Writer) writeError(ctx context.Context, parent *object.Object, op plan.Op, err error, to plan.Writer) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return w.alreadyExists(ctx, parent, op.Object, to)
	case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		return nil // it was to be deleted
	case !op.Creates() && kube.Outdated(err):
		return kube.Requeue(err)
	case w.recreates(op.Observed) && apierrors.IsInvalid(err):
		return fmt.Errorf("%w; it is not deleted to be recreated, since a random value stands in it, which may be another one then: return what it has, or return it with another name, or delete it yourself if the value may change", err)
	}
	return err
}

// recreates reports whether a child would be recreated if the script had not passed back a random value that stands in it.
func (w *Writer) recreates(child *object.Object) bool {
	if child == nil || w.response == nil || !w.response.Holders.Has(child.GetUID()) {
		return false
	}
	method := w.Binding.Rules[child.GroupVersionKind()]
	return method == plan.Recreate || method == plan.RollingRecreate
}

// alreadyExists returns why a child could not be created although the cache does not have it: either the cache is stale, and
// the error is a kube.ErrRequeue, or the object of this name is not the parent's.
func (w *Writer) alreadyExists(ctx context.Context, parent, child *object.Object, to plan.Writer) error {
	existing, err := w.Binding.GetLive(ctx, child)
	if apierrors.IsNotFound(err) {
		return kube.ErrRequeue
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", object.Describe(child), err)
	}
	ref := object.OwnerOf(existing)
	if ref != nil { // whoever made the object wrote it
		redact.FromContext(ctx).AddPublicTexts(ref.Kind, ref.Name)
	}
	_, declared := w.Binding.Kinds[child.GroupVersionKind()]
	expect, err := w.Binding.Expect(parent)
	take := taking{w, parent, existing, child, claim.RuleOf(w.Binding.Children, child)}
	switch {
	case ref != nil && ref.UID == parent.GetUID() && !declared:
		return nil // a kind that is not watched is created once
	case object.Deleting(existing):
		return fmt.Errorf("%s is still being deleted: %w", object.Describe(existing), kube.ErrRequeue)
	case ref != nil && ref.UID == parent.GetUID():
		w.noteLeft(parent, existing)
		return kube.ErrRequeue // the cache is stale
	case ref != nil && ref.Kind == parent.GetKind() && ref.Name == parent.GetName() && schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group == parent.GroupVersionKind().Group:
		return fmt.Errorf("%s belongs to an earlier %s: %w", object.Describe(existing), object.Describe(parent), kube.ErrRequeue)
	case take.permitted():
		return take.do(ctx, to)
	case ref != nil && take.rule.Adoption == v1alpha1.AdoptForce:
		return fmt.Errorf("create %s: it was taken over once, and belongs to %s %s again, so that it is not taken over any more: have only one of them own it", object.Describe(child), ref.Kind, ref.Name)
	case ref != nil:
		return fmt.Errorf("create %s: it exists already and belongs to %s %s: give the child another name; if you delete it instead, what is in it is lost", object.Describe(child), ref.Kind, ref.Name)
	case take.rule.Adoption == v1alpha1.AdoptNever:
		return fmt.Errorf("create %s: it exists already, and is not adopted since adoptionPolicy is Never: give the child another name; if you delete it instead, what is in it is lost", object.Describe(child))
	case err == nil && expect.Selector != nil && expect.Selector.Matches(labels.Set(existing.GetLabels())):
		return kube.ErrRequeue // the next reconcile adopts it
	}
	why := "does not belong to " + object.Describe(parent) + ": give the child another name"
	if expect.Selector != nil {
		why = fmt.Sprintf("is not adopted since its labels do not match %q: set labels on it that match, or give the child another name", expect.Selector)
	}
	return fmt.Errorf("create %s: it exists already, and %s; if you delete it instead, what is in it is lost", object.Describe(child), why)
}

// noteLeft notes a child that the cache does not have because it has lost its label, so that the next reconcile releases it.
func (w *Writer) noteLeft(parent, child *object.Object) {
	if cache := w.Binding.CacheOf(child.GroupVersionKind()); cache != nil && cache.Lacks(child) {
		w.Binding.Left.Note(object.RefOf(parent), child)
	}
}

// delayUpdate returns how long op has to wait because the same content was written too often before; zero if it does not
// wait. Something else changes the child each time, and only an edit of the hook or of the other controller can end that. It also
// begins a new count of the writes of the child, if there is none, if op writes other content than before, or if the last write
// was long ago; and it reports a conflict when a delay begins. countWrite counts op.
func (w *Writer) delayUpdate(ctx context.Context, parent *object.Object, op plan.Op) time.Duration {
	if op.Wanted == nil || op.Creates() {
		return 0
	}
	child := object.RefOf(op.Object)
	contention := w.Memory.contentions[child]
	if contention == nil || contention.content != op.Content || contention.Forgotten(time.Now()) {
		contention = &repeated{content: op.Content}
		put(&w.Memory.contentions, child.Clone(), contention)
	}
	wait, report := contention.Delay(time.Now())
	if report {
		w.reportFieldConflict(ctx, parent, op, contention.Writes())
	}
	return wait
}

// countWrite counts op, which was done with this result, for delayUpdate and delayDelete. A write that changes nothing is none.
func (w *Writer) countWrite(op plan.Op, stored *object.Object) {
	if contention := w.Memory.deletionContention(op); contention != nil {
		contention.Count(time.Now())
		return
	}
	contention := w.Memory.contentions[object.RefOf(op.Object)]
	if contention == nil || op.Wanted == nil || op.Creates() || op.Verb == plan.DryRun || op.Verb != plan.Delete && unchanged(op, stored) {
		return
	}
	contention.Count(time.Now())
}

// reportFieldConflict reports, in the log and by an event on parent, which field of a child is written again and again, and
// which other field managers write it.
func (w *Writer) reportFieldConflict(ctx context.Context, parent *object.Object, op plan.Op, writes int) {
	done := "updated"
	if op.Verb == plan.Delete || op.Verb == plan.DryRun {
		done = "recreated"
	}
	field := op.Differs.String()
	if field == "" {
		field = "a part of it"
	}
	text := fmt.Sprintf("%s%s was %s %d times, and %s differs again from what the hook returned%s: %s. Have the hook return it as it is stored, or without this field. %s", w.Memory.warned(op.Object), object.Describe(op.Object), done, writes, field, storedValues(op, redact.FromContext(ctx).Text), w.otherManagers(ctx, op), throttle.ContentionText)
	w.Log.Warn("field conflict", "parent", object.RefOf(parent), "child", object.RefOf(op.Object), "field", op.Differs.String(), "detail", text)
	w.Events.Warning(parent, "FieldConflict", "%s", text)
	w.Metrics.Conflicted()
}

// otherManagers describes the field managers that own the field in which the child of op differs, other than ours. It reads
// the child from the API server.
func (w *Writer) otherManagers(ctx context.Context, op plan.Op) string {
	live, err := w.Binding.GetLive(ctx, op.Object)
	if err != nil {
		return "the object could not be read to find out who changes it: " + err.Error()
	}
	names := w.othersIn(live, op.Differs)
	if len(names) == 0 {
		return w.unknownManager(live, op)
	}
	redact.FromContext(ctx).AddPublicTexts(names...)
	return "it is changed by the field manager " + strings.Join(names, " and ")
}

// unknownManager says who may change a child, live, whose field no other field manager owns.
func (w *Writer) unknownManager(live *object.Object, op plan.Op) string {
	if applied := plan.AppliedBy(live); applied != "" && applied != op.Content {
		return "another controller with the field manager " + kube.FieldManager + ", of this server or of Metacontroller, writes it too: have only one of them return it"
	}
	return "no other field manager owns it, so that the API server or an admission webhook changes it, somebody removes it, or another controller with the field manager " + kube.FieldManager + " creates it too"
}

// othersIn returns the field managers that own a field of a child, other than ours, as text.
func (w *Writer) othersIn(child *object.Object, field plan.Path) (names []string) {
	for _, m := range ownership.Managers(child, field) {
		if !slices.Contains([]string{kube.FieldManager, w.Binding.FieldManager}, m.Name) {
			names = append(names, m.String())
		}
	}
	return names
}

// delayDelete returns how long op has to wait because it deletes a child that was deleted too often before; zero if it does not
// wait. It also reports a conflict when a delay begins. deletionContention begins and ends the count, and countWrite counts op.
func (w *Writer) delayDelete(parent *object.Object, op plan.Op) time.Duration {
	contention := w.Memory.deletionContention(op)
	if contention == nil {
		return 0
	}
	wait, report := contention.Delay(time.Now())
	if report {
		text := fmt.Sprintf("it was deleted %d times, since the hook does not return it, and somebody creates it again as a child of this object: does another controller select the same objects? %s", contention.Writes(), throttle.ContentionText)
		w.Log.Warn("field conflict", "parent", object.RefOf(parent), "child", object.RefOf(op.Object), "detail", text)
		w.Events.Warning(parent, "FieldConflict", "%s: %s", object.Describe(op.Object), text)
		w.Metrics.Conflicted()
	}
	return wait
}

// ReportSuppressed records an event for each child with a difference that its update method does not permit to fix, unless the
// last reconcile had the same difference. Children that may be as the API server stores what the hook returned are compared by a dry
// run of a creation before. It returns the differences, and the time after which to compare the children that have to wait for it; zero
// if none has.
func (w *Writer) ReportSuppressed(ctx context.Context, parent *object.Object, suppressed []plan.Op, to plan.Writer) (left []plan.Op, again time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var reported map[object.Ref]string
	for _, op := range suppressed {
		child, difference := object.RefOf(op.Observed), op.Differs.String()+" "+op.Content
		if w.Memory.suppressed[child] != difference {
			if wait := w.confirmDelay(op); wait > 0 {
				again = throttle.Shorter(again, wait)
				continue
			}
			t := trial{w, parent, op, to}
			if op.Doubtful {
				differs, same := t.storedAsReturned(ctx)
				if same {
					continue
				}
				if differs != nil {
					op.Differs = differs
				}
			}
			w.reportSuppressed(parent, op)
		}
		put(&reported, child, difference)
		left = append(left, op)
	}
	w.Memory.suppressed = reported
	w.unfinished = w.unfinished || again > 0 || slices.ContainsFunc(left, func(op plan.Op) bool { return op.Object.GetKind() == "Secret" })
	if w.Suppressed != nil {
		w.Suppressed(left)
	}
	return left, again
}

func (w *Writer) reportSuppressed(parent *object.Object, op plan.Op) {
	advice := "delete the child, or set another method"
	if w.response != nil && w.response.Holders.Has(op.Observed.GetUID()) {
		advice = "set another method. If you delete the child instead, its random values may be other ones then"
	}
	w.Events.Normal(parent, "UpdateSuppressed", "%s: %s differs from what the hook wants, and is left as it is, since the update method is OnDelete: %s", object.Describe(op.Observed), op.Differs, advice)
}
