package kube

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// dryCreate does a DryCreate. It returns why op.Object could not be created if op.Observed, which has the same name, were deleted; nil if
// it could. It tries to create it in a dry run: the API server validates the whole object, and asks admission webhooks and policies,
// before it finds that the name exists. These errors do not count:
//
//   - a quota is exceeded, since a part of it is free again when op.Observed is deleted, unless the object alone exceeds the quota
//   - an admission webhook does not support dry runs, so that only the creation itself can tell
func (w *Writer) dryCreate(ctx context.Context, client objects, op plan.Op) error {
	_, err := client.create(ctx, withoutHeld(op.Object, op.Observed), options{manager: FieldManager, dryRun: true})
	if err == nil || apierrors.IsAlreadyExists(err) || exceedsQuota(err) && !exceedsAlone(err) || lacksDryRun(err) {
		return nil
	}
	return fmt.Errorf("the existing object is not deleted, since the new one would not be created: %w", err)
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

// exceedsQuota reports whether err says that a quota is exceeded. It reads the text, since the error has no type of its own.
func exceedsQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// quotaText matches what an object requests, and the limits, in the error of an exceeded quota.
var quotaText = regexp.MustCompile(`requested: (\S+), used: \S+, limited: (\S+)`)

// exceedsAlone reports whether an object exceeds a quota even if nothing else uses it, according to the error.
func exceedsAlone(err error) bool {
	match := quotaText.FindStringSubmatch(err.Error())
	if match == nil {
		return false
	}
	limits := quantities(match[2])
	for name, requested := range quantities(match[1]) {
		if limit, found := limits[name]; found && requested.Cmp(limit) > 0 {
			return true
		}
	}
	return false
}

// quantities parses a text such as "pods=1,requests.cpu=200m".
func quantities(text string) map[string]resource.Quantity {
	found := map[string]resource.Quantity{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if quantity, err := resource.ParseQuantity(value); err == nil {
			found[name] = quantity
		}
	}
	return found
}

// lacksDryRun reports whether err says that an admission webhook does not support dry runs. The API server did not ask it then. It
// reads the text, since the error has no type of its own.
func lacksDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}
