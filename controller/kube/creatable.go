package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// dryCreate does a DryCreate. It returns the object as it would be created, or op.Observed if that is not known; or why op.Object could not
// be created if op.Observed, if that has the same name, were deleted. It tries to create it in a dry run: the API server validates the
// whole object, and asks admission webhooks and policies, before it finds that the name exists. These errors do not count:
//
//   - a quota is exceeded that has room for the object when op.Observed is deleted; the error is plan.ErrTight or plan.ErrGrows then
//   - an admission webhook does not support dry runs, so that only the creation itself can tell
func (w *Writer) dryCreate(ctx context.Context, client objects, op plan.Op) (*object.Object, error) {
	created, err := client.create(ctx, withoutHeld(op.Object, op.Observed), options{manager: FieldManager, dryRun: true})
	switch {
	case err == nil:
		return created, nil
	case apierrors.IsAlreadyExists(err), lacksDryRun(err):
		return op.Observed, nil
	case exceedsQuota(err):
		if fits, grows := fitsInPlace(err, op.Object, op.Observed); fits && grows {
			return nil, plan.ErrGrows
		} else if fits {
			return nil, plan.ErrTight
		}
	}
	return nil, fmt.Errorf("the existing object is not deleted, since the new one would not be created: %w", err)
}

// withoutHeld returns o as it can be created while existing, which has its name, exists. The IP addresses and node ports of a Service
// are refused as long as existing has them, and are free when it is deleted. It does not change o.
func withoutHeld(o, existing *object.Object) *object.Object {
	if o.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Service") || existing == nil {
		return o
	}
	free := object.Copy(o)
	spec, _ := free.Map()["spec"].(map[string]any)
	ip, _, _ := unstructured.NestedString(existing.Map(), "spec", "clusterIP")
	if ip != "" && ip != corev1.ClusterIPNone && spec["clusterIP"] == ip {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	held := nodePorts(existing)
	remove := func(from map[string]any, name string) {
		if port, set := from[name]; set && slices.Contains(held, fmt.Sprint(port)) {
			delete(from, name)
		}
	}
	remove(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, item := range ports {
		port, _ := item.(map[string]any)
		remove(port, "nodePort")
	}
	return free
}

// nodePorts returns the node ports of a Service, as text.
func nodePorts(service *object.Object) []string {
	var found []string
	add := func(port any) {
		if port != nil {
			found = append(found, fmt.Sprint(port))
		}
	}
	health, _, _ := unstructured.NestedFieldNoCopy(service.Map(), "spec", "healthCheckNodePort")
	add(health)
	ports, _, _ := unstructured.NestedFieldNoCopy(service.Map(), "spec", "ports")
	list, _ := ports.([]any)
	for _, item := range list {
		port, _ := item.(map[string]any)
		add(port["nodePort"])
	}
	return found
}

// lacksDryRun reports whether err says that an admission webhook does not support dry runs. The API server did not ask it then. It
// reads the text, since the error has no type of its own.
func lacksDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}
