package spec

import (
	"cmp"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/plan"
)

// Composite returns the Declaration of a CompositeController.
func Composite(cc *v1alpha1.CompositeController) *Declaration {
	spec := &cc.Spec
	d := &Declaration{
		Kind: v1alpha1.KindCompositeController, Object: cc.ObjectMeta, Shape: hook.Composite,
		Parents: []Parent{{
			ResourceRule: spec.ParentResource.ResourceRule, Field: "parentResource",
			Labels:              spec.ParentResource.LabelSelector,
			IgnoreStatusChanges: IsTrue(spec.ParentResource.IgnoreStatusChanges),
		}},
		Field: "childResources", Script: spec.Script, EndpointConfigs: spec.EndpointConfigs,
		ResyncPeriodSeconds: spec.ResyncPeriodSeconds, GenerateSelector: IsTrue(spec.GenerateSelector),
		Settings: spec.ControllerSettings, Status: cc.Status,
	}
	for _, rule := range spec.ChildResources {
		d.Children = append(d.Children, declareChild(rule))
	}
	if h := spec.Hooks; h != nil {
		d.Hooks = []NamedHook{{hook.Sync, h.Sync}, {hook.Finalize, h.Finalize}, {hook.Customize, h.Customize}}
	}
	if history := spec.ParentResource.RevisionHistory; history != nil {
		d.ScriptRevisions, d.FieldPaths = history.ScriptRevisions, history.FieldPaths
	}
	return d
}

// isPlain reports whether the parent is not the controller of the children.
func isPlain(o v1alpha1.ChildOwnership) bool {
	return o.OwnerReference != nil && o.OwnerReference.Controller != nil && !*o.OwnerReference.Controller
}

// declareChild returns the Child for a rule of childResources. The default method is OnDelete.
func declareChild(rule v1alpha1.CompositeControllerChildResourceRule) Child {
	child := Child{ResourceRule: rule.ResourceRule, Method: plan.OnDelete, Plain: isPlain(rule.ChildOwnership), Adopts: rule.AdoptionPolicy}
	if s := rule.UpdateStrategy; s != nil {
		child.Method = cmp.Or(plan.Method(s.Method), plan.OnDelete)
		child.Checks = s.StatusChecks.Conditions
	}
	return child
}
