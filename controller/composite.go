package controller

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// maxWorkers bounds maxConcurrentSyncs, as the definition does, which may be an older one.
const maxWorkers = 1000

// finalizerPrefix is followed by the name of the CompositeController.
const finalizerPrefix = "metacontroller.io/compositecontroller-"

// A childRule is a declared child kind as discovery has it.
type childRule struct {
	kube.Resource
	method plan.Method
}

// resolved are the resources of a controller as discovery has them now.
type resolved struct {
	parent   kube.Resource
	children []childRule
}

// A noStatusError says that a parent kind cannot hold a status. The text is Metacontroller's.
type noStatusError struct{ kube.Resource }

func (e *noStatusError) Error() string {
	return fmt.Sprintf("CRD [%s] does not have subresource 'Status' enabled", e.GroupResource())
}

// A finder knows resources by their plural names.
type finder interface {
	ByName(apiVersion, plural string) (kube.Resource, error)
}

// resolve looks up the resources that spec names.
func resolve(spec *v1alpha1.CompositeControllerSpec, in finder) (resolved, error) {
	parent, err := in.ByName(spec.ParentResource.APIVersion, spec.ParentResource.Resource)
	if err != nil {
		return resolved{}, fmt.Errorf("parentResource: %w", err)
	}
	found := resolved{parent: parent}
	for i, rule := range spec.ChildResources {
		child, err := in.ByName(rule.APIVersion, rule.Resource)
		if err != nil {
			return resolved{}, fmt.Errorf("childResources[%d]: %w", i, err)
		}
		found.children = append(found.children, childRule{child, methodOf(rule.UpdateStrategy)})
	}
	if !parent.HasStatus { // last, since it is told beside the news that all resources are there
		return resolved{}, &noStatusError{parent}
	}
	return found, nil
}

func methodOf(strategy *v1alpha1.CompositeControllerChildUpdateStrategy) plan.Method {
	if strategy == nil || strategy.Method == "" {
		return plan.OnDelete
	}
	return plan.Method(strategy.Method)
}

// bind makes the Binding of a CompositeController and opens its caches.
func (s *Server) bind(cc *v1alpha1.CompositeController, o *object.Object, found resolved, hooks loadedHooks) (*Binding, error) {
	b := binding(cc, found)
	var err error
	if b.Selector, err = parentSelector(cc.Spec.ParentResource.LabelSelector); err != nil {
		return nil, err
	}
	b.Controller, b.Sync, b.Finalize = asHooksSee(o), hooks.sync, hooks.finalize
	b.Write, b.Live = s.write, s.write.Get
	if b.Workers == 0 {
		b.Workers = s.Workers
	}
	s.openCaches(b, found)
	b.Owner = &claim{children: b.children, selector: b.Match, live: b.Live}
	return b, nil
}

// binding is as much of a Binding as the spec alone says.
func binding(cc *v1alpha1.CompositeController, found resolved) *Binding {
	b := &Binding{
		Name: cc.Name, Kind: v1alpha1.KindCompositeController, Generation: cc.Generation,
		Parent: found.parent, Finalizer: finalizerPrefix + cc.Name,
		Rules: plan.Rules{}, Kinds: map[object.Kind]bool{}, Match: specSelector,
		ResyncPeriod:        resyncPeriod(cc.Spec.ResyncPeriodSeconds),
		IgnoreStatusChanges: isTrue(cc.Spec.ParentResource.IgnoreStatusChanges),
	}
	if n := cc.Spec.MaxConcurrentSyncs; n != nil {
		b.Workers = min(max(int(*n), 0), maxWorkers)
	}
	if isTrue(cc.Spec.GenerateSelector) {
		b.Match = generatedSelector
		b.Labels = func(parent *object.Object) map[string]string {
			return map[string]string{generatedLabel: string(parent.GetUID())}
		}
	}
	for _, rule := range found.children {
		b.Rules[rule.ObjectKind()] = rule.method // the last rule of a kind counts
		b.Kinds[rule.ObjectKind()] = rule.Namespaced
	}
	return b
}

func (s *Server) openCaches(b *Binding, found resolved) {
	b.parents = s.caches.Open(informer.Spec{Resource: found.parent.GroupVersionResource})
	opened := map[object.Kind]bool{}
	for _, rule := range found.children {
		kind := rule.ObjectKind()
		if !opened[kind] {
			opened[kind] = true
			b.children = append(b.children, childCache{kind, s.caches.Open(informer.Spec{Resource: rule.GroupVersionResource})})
		}
	}
}

func parentSelector(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("parentResource.labelSelector: %w", err)
	}
	return compiled, nil
}

// asHooksSee is the controller object without what changes while nothing of its meaning does.
func asHooksSee(o *object.Object) *object.Object {
	seen := object.Copy(o)
	seen.SetManagedFields(nil)
	delete(seen.Object, "status")
	return seen
}

func resyncPeriod(seconds *int32) time.Duration {
	if seconds == nil {
		return 0
	}
	return time.Duration(max(*seconds, 1)) * time.Second
}

func isTrue(b *bool) bool { return b != nil && *b }
