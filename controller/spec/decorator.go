package spec

import (
	"cmp"
	"fmt"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/plan"
)

// Decorator returns the Declaration of a DecoratorController.
func Decorator(dc *v1alpha1.DecoratorController) *Declaration {
	spec := &dc.Spec
	d := &Declaration{
		Kind: v1alpha1.KindDecoratorController, Object: dc.ObjectMeta, Shape: hook.Decorator,
		Field: "attachments", Script: spec.Script, EndpointConfigs: spec.EndpointConfigs,
		ResyncPeriodSeconds: spec.ResyncPeriodSeconds, Settings: spec.ControllerSettings, Status: dc.Status,
	}
	for i, rule := range spec.Resources {
		d.Parents = append(d.Parents, Parent{
			ResourceRule: rule.ResourceRule, Field: fmt.Sprintf("resources[%d]", i),
			Labels: rule.LabelSelector, Annotations: rule.AnnotationSelector,
			IgnoreStatusChanges: IsTrue(rule.IgnoreStatusChanges),
		})
	}
	for _, rule := range spec.Attachments {
		d.Children = append(d.Children, declareAttachment(rule))
	}
	if h := spec.Hooks; h != nil {
		d.Hooks = []NamedHook{{hook.Sync, h.Sync}, {hook.Finalize, h.Finalize}, {hook.Customize, h.Customize}}
	}
	return d
}

// unrolled maps the rolling methods to the methods that attachments have in their place, since attachments do not roll.
var unrolled = map[plan.Method]plan.Method{plan.RollingRecreate: plan.Recreate, plan.RollingInPlace: plan.InPlace}

// declareAttachment returns the Child for a rule of attachments. The default method is OnDelete.
func declareAttachment(rule v1alpha1.DecoratorControllerAttachmentRule) Child {
	child := Child{ResourceRule: rule.ResourceRule, Method: plan.OnDelete, Plain: isPlain(rule.ChildOwnership), Adopts: rule.AdoptionPolicy}
	if s := rule.UpdateStrategy; s != nil {
		method := plan.Method(s.Method)
		child.Method = cmp.Or(unrolled[method], method, plan.OnDelete)
	}
	return child
}
