// Package status reports in the status of a controller object what came of loading it and how it runs. It is pure: it reads
// no cluster and keeps nothing.
package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/spec"
	"metascript/engine"
)

// Of returns the status of the controller object that d was read from. Conditions of types that this server does not know
// stay as they are. What did not change keeps its lastTransitionTime, so that an unchanged Result gives an equal status.
func Of(d *spec.Declaration, r *Result) *v1alpha1.ControllerStatus {
	status := d.Status.DeepCopy()
	status.ObservedGeneration = d.Object.Generation
	status.ActiveGeneration, status.Parents, status.Script = 0, nil, nil
	if r.Active != nil {
		parents := int32(r.Parents)
		status.ActiveGeneration, status.Parents = r.Active.LatestGeneration(), &parents
	}
	if d.HasScript() {
		status.Script = scriptStatus(d.Status.Script, r)
	}
	status.Failing = failingStatus(d, r)
	status.Shadow = shadowStatus(r)
	if r.Shadow == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionShadowAgrees)
	}
	for _, c := range shown(d, r) {
		c.ObservedGeneration = d.Object.Generation
		c.Message = engine.Clip(c.Message, v1alpha1.MaxConditionMessage)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

// scriptStatus describes the script that runs. While none does, it keeps of before only what is needed to continue.
func scriptStatus(before *v1alpha1.ScriptStatus, r *Result) *v1alpha1.ScriptStatus {
	if r.Active == nil || r.Active.Built.Status.Digest == "" {
		if before == nil || before.LastGood == "" && len(before.Hooks) == 0 {
			return nil
		}
		return &v1alpha1.ScriptStatus{Hooks: before.Hooks, LastGood: before.LastGood, GivenUp: before.GivenUp}
	}
	status := r.Active.Built.Status.DeepCopy()
	at := build.LoadedAt(before, status.Digest, r.Active.LoadedAt)
	status.LoadedAt, status.LastGood = &metav1.Time{Time: at.UTC().Truncate(1e9)}, r.LastGood
	if r.GivenUp != "" {
		status.GivenUp = "sha256:" + r.GivenUp
	}
	if before != nil && status.LastGood == "" {
		status.LastGood = before.LastGood
	}
	return status
}
