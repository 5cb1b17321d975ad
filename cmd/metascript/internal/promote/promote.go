// Package promote makes the candidate in spec.shadow of a controller its script.
//
//   - [Find] reads a controller object, and returns it as a [Promotion] if it has a candidate.
//   - [Promotion.Run] writes it, with one update.
package promote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// names are the names of the kinds of controllers that a user may write, in lower case.
var names = map[string]string{
	"compositecontroller": v1alpha1.KindCompositeController, "compositecontrollers": v1alpha1.KindCompositeController,
	"cc": v1alpha1.KindCompositeController, "cctl": v1alpha1.KindCompositeController,
	"decoratorcontroller": v1alpha1.KindDecoratorController, "decoratorcontrollers": v1alpha1.KindDecoratorController,
	"dec": v1alpha1.KindDecoratorController, "decorators": v1alpha1.KindDecoratorController,
}

// A Promotion is a controller object with a candidate.
type Promotion struct {
	Condition Condition // ShadowAgrees
	Kept      []string  // the settings of spec.script that stay, since the candidate does not set them
	Manager   string    // what else writes the object, and would undo the promotion; "" if nothing is known

	client dynamic.ResourceInterface
	object *unstructured.Unstructured // is not changed
	script map[string]any             // what spec.script becomes
}

// A Condition is the condition ShadowAgrees of a controller.
type Condition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Find finds a controller by its name, or by its kind and name as KIND/NAME, and reads it.
func Find(ctx context.Context, client dynamic.Interface, name string) (*Promotion, error) {
	kinds := []string{v1alpha1.KindCompositeController, v1alpha1.KindDecoratorController}
	if kind, rest, hasKind := strings.Cut(name, "/"); hasKind {
		kind, _, _ = strings.Cut(kind, ".") // compositecontrollers.metacontroller.k8s.io
		known := names[strings.ToLower(kind)]
		if known == "" || rest == "" {
			return nil, fmt.Errorf("%q is no controller: write NAME, compositecontroller/NAME or decoratorcontroller/NAME", name)
		}
		kinds, name = []string{known}, rest
	}
	var found []*unstructured.Unstructured
	for _, kind := range kinds {
		o, err := client.Resource(spec.Resources[kind]).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			found = append(found, o)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no %s %s", strings.Join(kinds, " and no "), name)
	case 1:
		return newPromotion(found[0], client.Resource(spec.Resources[found[0].GetKind()]))
	}
	return nil, fmt.Errorf("there is a CompositeController and a DecoratorController %s: write compositecontroller/%s or decoratorcontroller/%s", name, name, name)
}

// newPromotion returns the Promotion of o; an error if there is nothing to promote.
func newPromotion(o *unstructured.Unstructured, client dynamic.ResourceInterface) (*Promotion, error) {
	p := &Promotion{client: client, object: o, Manager: managerOf(o)}
	candidate, has, _ := unstructured.NestedMap(o.Object, "spec", "shadow", "script")
	switch {
	case o.GetDeletionTimestamp() != nil:
		return nil, fmt.Errorf("%s is being deleted", p)
	case !has:
		return nil, fmt.Errorf("%s has no spec.shadow.script: there is no candidate to promote", p)
	}
	live, _, _ := unstructured.NestedMap(o.Object, "spec", "script")
	p.script = spec.MergeShadow(live, candidate)
	for _, field := range slices.Sorted(maps.Keys(p.script)) {
		if _, set := candidate[field]; !set {
			p.Kept = append(p.Kept, field)
		}
	}
	p.Condition = conditionOf(o)
	return p, nil
}

// String names the controller.
func (p *Promotion) String() string { return object.Describe(object.New(p.object.Object)) }

// Kind returns the kind of the controller.
func (p *Promotion) Kind() string { return p.object.GetKind() }

// Name returns the name of the controller.
func (p *Promotion) Name() string { return p.object.GetName() }

// Doubt returns why it is not known that the candidate answers the same for all parents; "" if it is known.
func (p *Promotion) Doubt() string {
	count := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(p.object.Object, "status", "shadow", field)
		return n
	}
	switch compared, total := count("parents"), count("total"); {
	case p.Condition.Status != string(metav1.ConditionTrue):
		return fmt.Sprintf("the condition ShadowAgrees of %s is %s", p, p.Condition.Status)
	case compared < total:
		return fmt.Sprintf("the candidate of %s was compared for %d of %d parents", p, compared, total)
	}
	return ""
}

// conditionOf returns the condition ShadowAgrees of o. It is Unknown if the server has not seen the last edit yet.
func conditionOf(o *unstructured.Unstructured) Condition {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range all {
		c, _ := item.(map[string]any)
		if c["type"] != v1alpha1.ConditionShadowAgrees {
			continue
		}
		if seen, _ := c["observedGeneration"].(int64); seen < o.GetGeneration() {
			return Condition{"Unknown", v1alpha1.ReasonNotCompared, "the server has not seen the last edit of the controller yet"}
		}
		text := func(field string) string {
			text, _ := c[field].(string)
			return text
		}
		return Condition{text("status"), text("reason"), text("message")}
	}
	return Condition{"Unknown", v1alpha1.ReasonNotCompared, "no server has compared the candidate"}
}

// managerOf returns what seems to write o from a file, so that it would undo the promotion.
func managerOf(o *unstructured.Unstructured) string {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	switch {
	case annotations["argocd.argoproj.io/tracking-id"] != "" || labels["argocd.argoproj.io/instance"] != "":
		return "Argo CD"
	case labels["kustomize.toolkit.fluxcd.io/name"] != "" || labels["helm.toolkit.fluxcd.io/name"] != "":
		return "Flux"
	case annotations["meta.helm.sh/release-name"] != "" || labels["app.kubernetes.io/managed-by"] == "Helm":
		return "Helm"
	case annotations["kubectl.kubernetes.io/last-applied-configuration"] != "":
		return "kubectl apply"
	}
	return ""
}

// Run makes the candidate the script, and removes spec.shadow, with one update. It fails if the object has changed since it was read.
func (p *Promotion) Run(ctx context.Context) error {
	changed := p.object.DeepCopy()
	if err := unstructured.SetNestedMap(changed.Object, p.script, "spec", "script"); err != nil {
		return err
	}
	unstructured.RemoveNestedField(changed.Object, "spec", "shadow")
	_, err := p.client.Update(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager, FieldValidation: metav1.FieldValidationStrict})
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return fmt.Errorf("%s was changed since it was read, and nothing was written: run the command again", p)
	case apierrors.IsForbidden(err):
		return errors.Join(fmt.Errorf("nothing was written: you need the permission to update %s", spec.Resources[p.Kind()].GroupResource()), err)
	}
	return fmt.Errorf("nothing was written: update %s: %w", p, err)
}

// FieldManager is the field manager of the update.
const FieldManager = "metascript-promote"
