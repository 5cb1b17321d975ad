package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
	"metascript/scripts"
)

// statusFor is the status of a controller object after a verdict.
func statusFor(d *declaration, v *verdict) *v1alpha1.ControllerStatus {
	status := d.Status.DeepCopy()
	status.ObservedGeneration = d.Object.Generation
	status.ActiveGeneration, status.Parents, status.Script = 0, nil, nil
	if v.active != nil {
		parents := int32(v.parents)
		status.ActiveGeneration, status.Parents = v.active.generation, &parents
	}
	if d.hasScript() {
		status.Script = scriptStatus(d.Status.Script, v)
	}
	for _, kind := range []string{v1alpha1.ConditionResourcesDiscovered, v1alpha1.ConditionScriptReady, v1alpha1.ConditionScriptsHeld, v1alpha1.ConditionScriptRunaway, v1alpha1.ConditionFallbackActive, v1alpha1.ConditionFinalizersHeld, v1alpha1.ConditionPermitted, v1alpha1.ConditionSpecSound, v1alpha1.ConditionReady} {
		if c := conditionOf(kind, d, v); c.Status != "" {
			c.Type, c.ObservedGeneration = kind, d.Object.Generation
			c.Message = engine.Clip(c.Message, maxConditionMessage)
			meta.SetStatusCondition(&status.Conditions, c)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	return status
}

// maxConditionMessage is how long the API server takes a condition's message.
const maxConditionMessage = 32 << 10

func scriptStatus(before *v1alpha1.ScriptStatus, v *verdict) *v1alpha1.ScriptStatus {
	if v.active == nil || v.active.hooks.status.Digest == "" {
		if before == nil || before.LastGood == "" && len(before.Hooks) == 0 {
			return nil
		}
		return &v1alpha1.ScriptStatus{Hooks: before.Hooks, LastGood: before.LastGood, GivenUp: before.GivenUp} // what is needed to go on
	}
	status := v.active.hooks.status.DeepCopy()
	at := loadedAt(before, status.Digest, v.active.at)
	status.LoadedAt, status.LastGood = &metav1.Time{Time: at.UTC().Truncate(1e9)}, v.lastGood
	if v.givenUp != "" {
		status.GivenUp = "sha256:" + v.givenUp
	}
	if before != nil && status.LastGood == "" {
		status.LastGood = before.LastGood
	}
	return status
}

// conditionOf gives status, reason and message of one condition; no status when there is no such condition.
func conditionOf(kind string, d *declaration, v *verdict) metav1.Condition {
	switch kind {
	case v1alpha1.ConditionResourcesDiscovered:
		return resourcesCondition(v)
	case v1alpha1.ConditionScriptReady:
		return scriptCondition(d, v)
	case v1alpha1.ConditionScriptsHeld:
		return heldCondition(v)
	case v1alpha1.ConditionScriptRunaway:
		return runawayCondition(v)
	case v1alpha1.ConditionFallbackActive:
		return fallbackCondition(v.fallbacks)
	case v1alpha1.ConditionFinalizersHeld:
		return finalizersCondition(d, v)
	case v1alpha1.ConditionPermitted:
		return permittedCondition(v)
	case v1alpha1.ConditionSpecSound:
		return soundCondition(v)
	}
	return readyCondition(d, v)
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Status: status, Reason: reason, Message: message}
}

func resourcesCondition(v *verdict) metav1.Condition {
	var notServed *kube.NotServedError
	var noStatus *noStatusError
	switch {
	case !v.asked:
		return metav1.Condition{} // it was not tried
	case v.resources == nil, errors.As(v.resources, &noStatus):
		return condition(metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the API server serves every resource that the spec names")
	case errors.As(v.resources, &notServed):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonResourceNotFound, v.resources.Error()+"; work starts by itself when it appears")
	}
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonDiscoveryFailed, v.resources.Error())
}

func scriptCondition(d *declaration, v *verdict) metav1.Condition {
	switch {
	case !d.hasScript():
		return metav1.Condition{}
	case v.script == nil && len(v.hooks.names) == 0:
		return metav1.Condition{} // it was not tried
	case v.script == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonLoaded, "hooks: "+strings.Join(v.hooks.names, ", "))
	}
	message := engine.DetailOf(v.script)
	if len(v.from) > 0 {
		message += "\nin ConfigMap " + strings.Join(v.from, ", ")
	}
	if v.active != nil {
		message += "\n" + v.stays(d)
	}
	return condition(metav1.ConditionFalse, scriptReason(v.script), message)
}

// replaced reports whether something else than what is written runs because of the scripts alone.
func (v *verdict) replaced(d *declaration) bool {
	return v.script != nil && v.spec == nil && v.active != nil && v.active.generation == d.Object.Generation && v.active.hooks.lacks == "" && !isGivenUp(v.script)
}

// stays says what runs in place of what is written.
func (v *verdict) stays(d *declaration) string {
	if v.active.hooks.lacks != "" {
		return fmt.Sprintf("generation %d runs with webhooks in place of scripts", v.active.generation)
	}
	if v.active.generation != d.Object.Generation || v.active.hooks.status.Digest == "" {
		return fmt.Sprintf("generation %d keeps running", v.active.generation)
	}
	return fmt.Sprintf("the version loaded at %s, %s, keeps running", v.active.at.UTC().Format(time.RFC3339), short(v.active.hooks.status.Digest))
}

func scriptReason(err error) string {
	var e *engine.Error
	var source *scripts.Error
	switch {
	case isGivenUp(err):
		return v1alpha1.ReasonRolledBack
	case errors.As(err, &source) && source.Reason == scripts.NotFound:
		return v1alpha1.ReasonSourceNotFound
	case errors.As(err, &source):
		return v1alpha1.ReasonSourceInvalid
	case !errors.As(err, &e):
		return v1alpha1.ReasonFunctionNotFound
	case e.Kind.Limit():
		return v1alpha1.ReasonLimitExceeded
	}
	return v1alpha1.ReasonCompileError
}

func soundCondition(v *verdict) metav1.Condition {
	if len(v.doubts) == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonDoubtful, strings.Join(v.doubts, "; "))
}

func heldCondition(v *verdict) metav1.Condition {
	if v.held.parents == 0 {
		return metav1.Condition{}
	}
	parents := "one parent,"
	if v.held.parents > 1 {
		parents = fmt.Sprintf("%d parents, the first of them", v.held.parents)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonLimitExceeded, fmt.Sprintf("the script is not run for %s %s, before the parent's spec or the script changes, since it hit a limit %d times in a row: %s",
		parents, v.held.first, strikesAllowed, engine.DetailOf(v.held.err)))
}

func readyCondition(d *declaration, v *verdict) metav1.Condition {
	err := v.err()
	switch {
	case err == nil && d.Settings.Paused:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonPaused, "spec.paused is set: no hook runs, and nothing is written")
	case err == nil && v.active == nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "the controller is about to start")
	case err == nil && !v.filled && v.trouble != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled: "+v.trouble.Error())
	case err == nil && !v.filled:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled")
	case err == nil && v.trouble != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonCachesStale, "changes go unnoticed: "+v.trouble.Error())
	case err == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonRunning, fmt.Sprintf("generation %d runs", v.active.generation))
	case v.active != nil && (v.active.generation != d.Object.Generation || v.active.uid != d.Object.UID):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion,
			fmt.Sprintf("generation %d does not load, and generation %d keeps running: %s", d.Object.Generation, v.active.generation, err))
	case v.active != nil && v.script != nil && v.active.hooks.lacks != "":
		return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptNotReady, fmt.Sprintf("%s: %s", v.stays(d), err))
	case v.active != nil && v.script != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion, fmt.Sprintf("the script as it is now cannot be used, and %s: %s", v.stays(d), err))
	}
	if v.active != nil {
		return condition(metav1.ConditionFalse, readyReason(v), fmt.Sprintf("%v; what was started before keeps running", err))
	}
	return condition(metav1.ConditionFalse, readyReason(v), err.Error())
}

func readyReason(v *verdict) string {
	var noStatus *noStatusError
	var isolation *isolationError
	switch {
	case errors.Is(v.spec, errNoHooks):
		return v1alpha1.ReasonNoHooks
	case errors.As(v.spec, &isolation):
		return v1alpha1.ReasonIsolationUnavailable
	case v.spec != nil:
		return v1alpha1.ReasonInvalidSpec
	case errors.As(v.resources, &noStatus):
		return v1alpha1.ReasonNoStatusSubresource
	case v.resources != nil:
		return v1alpha1.ReasonResourcesNotDiscovered
	}
	return v1alpha1.ReasonScriptNotReady
}

// introduction is how long after an object was seen first its status is not written: who creates an object and then
// updates it, as it came back, must not find it changed.
const introduction = time.Second

// young gives how long o's status is not to be written yet.
func (s *Server) young(o *object.Object) time.Duration {
	first, _ := s.met.LoadOrStore(o.GetUID(), time.Now())
	return introduction - time.Since(first.(time.Time))
}

// writeStatus writes status into o if it differs from what is there.
func (s *Server) writeStatus(ctx context.Context, o *object.Object, status *v1alpha1.ControllerStatus) error {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("status of %s: %w", object.Describe(o), err)
	}
	changed := object.Copy(o)
	changed.Object["status"] = m
	if s.statusPruned.Load() || plan.Difference(statusOf(o), statusOf(changed)) == "" {
		return nil
	}
	if wait := s.young(o); wait > 0 && s.Given == nil {
		s.queue.AddAfter(idOf(o), wait)
		return nil
	}
	stored, err := s.controllerWriter().Do(ctx, plan.Op{Verb: plan.UpdateStatus, Object: changed, Why: "conditions"})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && !hasConditions(stored) && time.Since(time.Unix(0, s.definedAt.Load())) < definitionLag {
		return fmt.Errorf("%s: its status was not stored: the API server may not know the new definition yet", object.Describe(o))
	}
	if err == nil && !hasConditions(stored) && !s.statusPruned.Swap(true) {
		s.Log.Warn(oldDefinitions)
		s.events.Warning(o, "OldDefinitions", "%s", oldDefinitions)
	}
	return err
}

// controllerWriter writes to controller objects.
func (s *Server) controllerWriter() plan.Writer {
	if s.Given != nil {
		return s.Given
	}
	return s.write
}

// definitionLag is how long after its change an API server may still go by an old definition.
const definitionLag = 10 * time.Second

// oldDefinitions is told once, when only the program was replaced and not what came with it.
const oldDefinitions = "the CustomResourceDefinitions of the controllers are older than this server, and keep neither spec.script nor the status: apply those of its release, in manifests/crds; no status is written until they change"

func hasConditions(o *object.Object) bool {
	_, found, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	return found && err == nil
}
