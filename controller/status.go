package controller

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/details"
	"metascript/controller/finalizers"
	"metascript/controller/guard"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/controller/status"
	"metascript/controller/throttle"
	"metascript/engine/tree"
)

// A reporter reports the results of loading: in the status of the controller object, in the log, in events, and on parents
// that wait for a finalize hook.
type reporter struct {
	*environment
	watches *watches
	blocked *finalizers.BlockedReporter
	details *details.Reporter
}

func newReporter(e *environment, w *watches) *reporter {
	actors := e.accounts.Actors
	return &reporter{e, w, finalizers.NewBlockedReporter(e.caches, e.resources, actors, e.accounts.Reviewer), details.NewReporter(actors, e.Log)}
}

// forget drops the state about a deleted controller.
func (r *reporter) forget(id spec.ID) {
	r.blocked.Forget(id)
	r.details.Forget(id)
	r.counts.Forget(id.Kind, id.Name, id.QueueName())
}

// report writes the result into the status of the object, and logs it and records an event when Ready has changed.
func (r *reporter) report(ctx context.Context, m *managed, c *build.Candidate, result *status.Result) error {
	written := status.Of(c.Declaration, result)
	m.summary.Store(&metrics.StatusSummary{Conditions: written.Conditions, Parents: result.Parents, Failing: result.Failing.Failing, Held: result.Held.Parents})
	ready := meta.FindStatusCondition(written.Conditions, v1alpha1.ConditionReady) // never nil
	if result.Finalizers.Parents > 0 && !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionFinalizersHeld) {
		r.Log.Warn("finalizers are held", "controller", m.id.Name, "parents", result.Finalizers.Parents)
		r.events.Warning(c.Object, "FinalizersHeld", "%s", meta.FindStatusCondition(written.Conditions, v1alpha1.ConditionFinalizersHeld).Message)
	}
	if forbidden := status.NewlyForbidden(c.Declaration, written); forbidden != nil {
		r.events.Warning(c.Object, forbidden.Reason, "%s", forbidden.Message)
	}
	r.reportParents(m, c, meta.FindStatusCondition(written.Conditions, v1alpha1.ConditionParentsSynced))
	r.reportNotStored(c, meta.FindStatusCondition(written.Conditions, v1alpha1.ConditionAnswersStored))
	if text := ready.Reason + ready.Message; !result.Unreported && m.reported != text {
		m.reported = text
		level := slog.LevelInfo
		if result.Err() != nil || result.CacheError != nil {
			level = slog.LevelWarn
		}
		r.Log.Log(ctx, level, "controller is "+ready.Reason, "controller", m.id.Name, "ready", ready.Status, "message", ready.Message)
		r.warn(c, result, written.Conditions)
	}
	if err := r.writeStatus(ctx, m, c.Object, written); err != nil {
		return err
	}
	if err := r.details.Report(c.Declaration, c.Object, status.Details(c.Declaration, result), time.Now()); err != nil {
		return err
	}
	why, remedy := status.WhyBlocked(c.Declaration, result)
	return r.blocked.Report(c.Declaration, why, remedy)
}

// reportParents logs and records an event when parents begin to fail, and when none does any more. now is the condition
// ParentsSynced. After a restart, the status says what was reported last.
func (r *reporter) reportParents(m *managed, c *build.Candidate, now *metav1.Condition) {
	if before := meta.FindStatusCondition(c.Status.Conditions, now.Type); m.parentsReported == "" && before != nil {
		m.parentsReported = before.Status
	}
	switch {
	case now.Status == metav1.ConditionFalse && m.parentsReported != now.Status:
		r.Log.Warn("parents fail", "controller", m.id.Name, "error", now.Message)
		line, _, _ := strings.Cut(now.Message, "\n") // an event has one line
		r.events.Warning(c.Object, "ParentsFailing", "%s", line)
	case now.Status == metav1.ConditionTrue && m.parentsReported == metav1.ConditionFalse:
		r.Log.Info("no parent fails any more", "controller", m.id.Name)
		r.events.Normal(c.Object, "ParentsSynced", "%s", now.Message)
	}
	if now.Status != metav1.ConditionUnknown {
		m.parentsReported = now.Status
	}
}

// reportNotStored records an event when the API server begins not to store all of what the hooks return. now is the condition
// AnswersStored.
func (r *reporter) reportNotStored(c *build.Candidate, now *metav1.Condition) {
	if now.Status == metav1.ConditionFalse && !meta.IsStatusConditionFalse(c.Status.Conditions, now.Type) {
		r.events.Warning(c.Object, "AnswersNotStored", "%s", now.Message)
	}
}

// warn records the event for a result in which the object does not run as it is written.
func (r *reporter) warn(c *build.Candidate, result *status.Result, written []metav1.Condition) {
	o, err, ready := c.Object, result.Err(), meta.FindStatusCondition(written, v1alpha1.ConditionReady)
	switch {
	case guard.Holds(err):
		r.events.Warning(o, "GuardExceeded", "%s", meta.FindStatusCondition(written, v1alpha1.ConditionGuardPassed).Message)
		r.counts.Controller(c.Kind, o.GetName()).Reloaded("held")
	case result.PreviousScriptRuns(c.Declaration):
		r.events.Warning(o, "ScriptRejected", "%s", ready.Message)
		r.counts.Controller(c.Kind, o.GetName()).Reloaded("rejected")
	case throttle.IsGivenUp(err): // reported by rollBack
	case spec.LacksStatus(err):
		r.events.Warning(o, "SyncError", "[%s] Sync error - ignoring, %s", o.GetName(), ready.Message)
	case err != nil:
		r.events.Warning(o, "CreateError", "Cannot create new controller: %s", ready.Message)
	case result.CacheError != nil:
		r.events.Warning(o, "SyncError", "[%s] Sync error - %s", o.GetName(), ready.Message)
	}
}

// writeStatus writes a status into o if it differs from the current one.
func (r *reporter) writeStatus(ctx context.Context, m *managed, o *object.Object, written *v1alpha1.ControllerStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(written)
	if err != nil {
		return fmt.Errorf("status of %s: %w", object.Describe(o), err)
	}
	changed := object.Copy(o)
	changed.Map()["status"] = content
	if r.watches.statusPruned.Load() || plan.SameStatus(o, changed) {
		return nil
	}
	if wait := m.statusDelay(); wait > 0 && r.Static == nil {
		r.queue.AddAfter(m.id, wait)
		return nil
	}
	stored, err := r.writer().Do(ctx, plan.Op{Verb: plan.UpdateStatus, Object: changed, Why: "conditions"})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || hasConditions(stored) {
		return err
	}
	return r.notePruned(o)
}

// writer returns what writes the status of controller objects.
func (r *reporter) writer() plan.Writer {
	if r.Static != nil {
		return r.Static
	}
	return r.write
}

// notePruned records that the API server does not store a status. It returns an error if that may change in a moment.
func (r *reporter) notePruned(o *object.Object) error {
	if time.Since(time.Unix(0, r.watches.definitionEdited.Load())) < definitionLag {
		return fmt.Errorf("%s: its status was not stored: the API server may not know the new definition yet", object.Describe(o))
	}
	if !r.watches.statusPruned.Swap(true) {
		r.Log.Warn(oldDefinitions)
		r.events.Warning(o, "OldDefinitions", "%s", oldDefinitions)
	}
	return nil
}

// definitionLag is how long an API server may use an old definition after it was changed.
const definitionLag = 10 * time.Second

// oldDefinitions is reported once, if the server was updated without its CustomResourceDefinitions.
const oldDefinitions = "the CustomResourceDefinitions of the controllers are older than this server, and store neither spec.script nor the status: apply those of its release, in manifests/crds; until then no status is written"

func hasConditions(o *object.Object) bool {
	v, _ := o.At("status", "conditions")
	_, is := tree.ArrayOf(v)
	return is
}
