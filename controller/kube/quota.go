package kube

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/object"
)

// exceedsQuota reports whether err says that a quota is exceeded. It reads the text, since the error has no type of its own.
func exceedsQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// quotaText matches what an object requests, what is used, and the limits, in the error of an exceeded quota.
var quotaText = regexp.MustCompile(`requested: (\S+), used: (\S+), limited: (\S+)`)

// fitsInPlace reports whether a quota that o exceeds, according to err, has room for it when existing, of the same kind, is deleted, and
// whether o needs more of it than existing. The error does not name the scopes of the quota, so that what existing uses is not known if it may
// be in another scope than o.
func fitsInPlace(err error, o, existing *object.Object) (fits, grows bool) {
	match := quotaText.FindStringSubmatch(err.Error())
	if match == nil || existing == nil || scopeOf(o) != scopeOf(existing) {
		return false, false
	}
	used, limits := quantities(match[2]), quantities(match[3])
	for name, requested := range quantities(match[1]) {
		total, limit, own := used[name], limits[name], resource.Quantity{}
		if countsAlike(name, o, existing) {
			own = usage(existing, name, requested)
		}
		total.Sub(own)
		total.Add(requested)
		if total.Cmp(limit) > 0 {
			return false, false
		}
		grows = grows || requested.Cmp(own) > 0
	}
	return true, grows
}

// scopeOf returns what decides in which scopes of quotas a Pod is; the zero value for other objects.
func scopeOf(o *object.Object) (scope struct {
	bestEffort, terminating bool
	priorityClass           string
}) {
	var pod corev1.Pod
	if o.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Pod") || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Map(), &pod) != nil {
		return scope
	}
	scope.bestEffort, scope.terminating, scope.priorityClass = true, pod.Spec.ActiveDeadlineSeconds != nil, pod.Spec.PriorityClassName
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		scope.bestEffort = scope.bestEffort && len(c.Resources.Requests)+len(c.Resources.Limits) == 0
	}
	return scope
}

// countsAlike reports whether a quota of a resource certainly counts existing as it counts o: that of a storage class counts the claims of
// this class, and that of a type of Services those of this type.
func countsAlike(name string, o, existing *object.Object) bool {
	field := ""
	switch {
	case strings.Contains(name, ".storageclass."):
		field = "storageClassName"
	case strings.HasPrefix(name, "services."):
		field = "type"
	}
	now, _ := o.Field("spec", field)
	before, _ := existing.Field("spec", field)
	return field == "" || now != nil && now == before
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

// usage returns how much of a resource of a quota an object uses, at least, if another one of its kind uses ofEach. What is not a request
// or a limit is a number: of objects, of which each uses 1, or of what they have, such as ports, of which it may use none. A Pod that has
// ended uses nothing.
func usage(o *object.Object, name string, ofEach resource.Quantity) resource.Quantity {
	of := func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }
	resourceName := strings.TrimPrefix(name, "requests.")
	if limited, limits := strings.CutPrefix(name, "limits."); limits {
		resourceName, of = limited, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }
	}
	switch kind := o.GroupVersionKind(); {
	case strings.HasPrefix(name, "count/"):
	case kind == corev1.SchemeGroupVersion.WithKind("Pod"):
		var pod corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Map(), &pod) != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return resource.Quantity{}
		}
		if name == "pods" {
			return ofEach
		}
		return podUsage(pod.Spec, func(r corev1.ResourceRequirements) resource.Quantity { return of(r)[corev1.ResourceName(resourceName)] })
	case kind == corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim") && strings.HasSuffix(name, "requests.storage"):
		var claim corev1.PersistentVolumeClaim
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Map(), &claim) != nil {
			return resource.Quantity{}
		}
		return claim.Spec.Resources.Requests[corev1.ResourceStorage]
	}
	if ofEach.CmpInt64(1) != 0 {
		return resource.Quantity{}
	}
	return ofEach
}

// podUsage returns how much of a resource a Pod needs, of which a container needs of: the containers and the sidecars together, or the
// init container that needs most beside the sidecars before it, if that is more.
func podUsage(pod corev1.PodSpec, of func(corev1.ResourceRequirements) resource.Quantity) resource.Quantity {
	var running, starting resource.Quantity
	for _, c := range pod.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			running.Add(of(c.Resources))
			continue
		}
		beside := running.DeepCopy()
		beside.Add(of(c.Resources))
		if beside.Cmp(starting) > 0 {
			starting = beside
		}
	}
	for _, c := range pod.Containers {
		running.Add(of(c.Resources))
	}
	if pod.Resources != nil {
		if whole := of(*pod.Resources); !whole.IsZero() {
			running, starting = whole, whole
		}
	}
	if starting.Cmp(running) > 0 {
		return starting
	}
	return running
}
