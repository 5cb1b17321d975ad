package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/cmd/metascript/internal/partial"
	"metascript/controller/object"
)

// A Rule says when and with which status objects become ready. The first rule that matches an object is used; if none does, the
// objects of the kinds that this package knows become ready after a second.
type Rule struct {
	Kind      string           `json:"kind"`
	Namespace string           `json:"namespace,omitempty"` // "" matches all
	Name      string           `json:"name,omitempty"`      // "" matches all
	After     *metav1.Duration `json:"after,omitempty"`     // default 1s
	Match     Fields           `json:"match,omitempty"`     // only objects that have these fields
	Never     bool             `json:"never,omitempty"`     // the status does not change
	Status    Fields           `json:"status,omitempty"`    // instead of the status of the kind
}

// Fields are fields of an object. Numbers without a fraction are int64, as in objects of the API.
type Fields map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fields) UnmarshalJSON(text []byte) error {
	var m map[string]any
	err := utiljson.Unmarshal(text, &m)
	*f = m
	return err
}

// defaultDelay is the default of Rule.After.
const defaultDelay = time.Second

func (r *Rule) matches(o *object.Object) bool {
	return r.Kind == o.GetKind() && (r.Namespace == "" || r.Namespace == o.GetNamespace()) && (r.Name == "" || r.Name == o.GetName()) &&
		partial.Differences(map[string]any(r.Match), o.Map()) == nil
}

// A chosen rule is the rule for an object.
type chosen struct {
	Rule
	After metav1.Duration
}

// ruleFor returns the rule for an object, or nil if its status does not change. The caller holds the lock.
func (p *ControlPlane) ruleFor(o *object.Object) *chosen {
	rule := Rule{}
	for _, r := range p.rules {
		if r.matches(o) {
			rule = r
			break
		}
	}
	if rule.Never {
		return nil
	}
	after := metav1.Duration{Duration: defaultDelay}
	if rule.After != nil {
		after = *rule.After
	}
	return &chosen{rule, after}
}

// statusOf returns the status that an object gets, or nil if it has this status already.
func (r *chosen) statusOf(o *object.Object) map[string]any {
	status := map[string]any(r.Status)
	if status == nil {
		status = ready(o)
	}
	current, _ := o.Map()["status"].(map[string]any)
	if status == nil || has(current, status) {
		return nil
	}
	return status
}

// has reports whether a value has all fields of another; times do not count.
func has(value, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		m, ok := value.(map[string]any)
		for key, v := range wanted {
			if ok = ok && (isTime(key) || has(m[key], v)); !ok {
				break
			}
		}
		return ok
	case []any:
		list, ok := value.([]any)
		ok = ok && len(list) == len(wanted)
		for i := range wanted {
			ok = ok && has(list[i], wanted[i])
		}
		return ok
	}
	return value == wanted
}

func isTime(key string) bool {
	return key == "lastTransitionTime" || key == "lastUpdateTime" || key == "startTime" || key == "startedAt" || key == "completionTime" || key == "finishedAt"
}

// write sets the status of an object.
func (p *ControlPlane) write(ctx context.Context, o *object.Object, status map[string]any) {
	p.note(p.setStatus(ctx, o, status))
}

func (p *ControlPlane) setStatus(ctx context.Context, o *object.Object, status map[string]any) error {
	return p.merge(ctx, o, map[string]any{"metadata": map[string]any{"uid": o.GetUID()}, "status": status}, "status")
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func condition(name, status, reason string) map[string]any {
	c := map[string]any{"type": name, "status": status, "lastTransitionTime": now()}
	if reason != "" {
		c["reason"] = reason
	}
	return c
}

// replicas returns spec.replicas, by default 1.
func replicas(o *object.Object) int64 {
	if n, found, _ := unstructured.NestedInt64(o.Map(), "spec", "replicas"); found {
		return n
	}
	return 1
}

// ready returns the status of a ready object, or nil if it has none that this package knows.
func ready(o *object.Object) map[string]any {
	n, seen := replicas(o), o.GetGeneration()
	switch o.GetAPIVersion() + " " + o.GetKind() {
	case "v1 Pod":
		return podStatus(o, "Running", "True", map[string]any{"running": map[string]any{"startedAt": now()}})
	case "apps/v1 Deployment":
		return map[string]any{
			"observedGeneration": seen, "replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n,
			"conditions": []any{condition("Available", "True", "MinimumReplicasAvailable"), condition("Progressing", "True", "NewReplicaSetAvailable")},
		}
	case "apps/v1 ReplicaSet":
		return map[string]any{"observedGeneration": seen, "replicas": n, "fullyLabeledReplicas": n, "readyReplicas": n, "availableReplicas": n}
	case "apps/v1 StatefulSet":
		return map[string]any{"observedGeneration": seen, "replicas": n, "currentReplicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n}
	case "apps/v1 DaemonSet":
		one := int64(1) // node
		return map[string]any{
			"observedGeneration": seen, "desiredNumberScheduled": one, "currentNumberScheduled": one, "updatedNumberScheduled": one,
			"numberReady": one, "numberAvailable": one, "numberMisscheduled": int64(0),
		}
	case "batch/v1 Job":
		completions, found, _ := unstructured.NestedInt64(o.Map(), "spec", "completions")
		if !found {
			completions = 1
		}
		return map[string]any{
			"startTime": now(), "completionTime": now(), "succeeded": completions,
			"conditions": []any{condition("SuccessCriteriaMet", "True", "CompletionsReached"), condition("Complete", "True", "CompletionsReached")},
		}
	case "v1 PersistentVolumeClaim":
		spec, _ := o.Map()["spec"].(map[string]any)
		requests, _, _ := unstructured.NestedMap(spec, "resources", "requests")
		return map[string]any{"phase": "Bound", "accessModes": spec["accessModes"], "capacity": requests}
	case "v1 Service":
		if kind, _, _ := unstructured.NestedString(o.Map(), "spec", "type"); kind == "LoadBalancer" {
			return map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1", "ipMode": "VIP"}}}}
		}
	}
	return nil
}

// failed returns the status of an object that has failed, or nil if it has none that this package knows.
func failed(o *object.Object) map[string]any {
	n, seen := replicas(o), o.GetGeneration()
	switch o.GetAPIVersion() + " " + o.GetKind() {
	case "v1 Pod":
		return podStatus(o, "Failed", "False", map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error", "finishedAt": now()}})
	case "apps/v1 Deployment":
		return map[string]any{
			"observedGeneration": seen, "replicas": n, "updatedReplicas": n, "readyReplicas": int64(0), "availableReplicas": int64(0), "unavailableReplicas": n,
			"conditions": []any{condition("Available", "False", "MinimumReplicasUnavailable"), condition("Progressing", "False", "ProgressDeadlineExceeded")},
		}
	case "apps/v1 ReplicaSet", "apps/v1 StatefulSet":
		return map[string]any{"observedGeneration": seen, "replicas": n, "readyReplicas": int64(0), "availableReplicas": int64(0)}
	case "batch/v1 Job":
		return map[string]any{
			"startTime": now(), "failed": int64(1),
			"conditions": []any{condition("FailureTarget", "True", "BackoffLimitExceeded"), condition("Failed", "True", "BackoffLimitExceeded")},
		}
	}
	return nil
}

// podStatus returns the status of a Pod whose containers are all in one state.
func podStatus(o *object.Object, phase, isReady string, state map[string]any) map[string]any {
	containers, _, _ := unstructured.NestedSlice(o.Map(), "spec", "containers")
	var statuses []any
	for _, c := range containers {
		container, _ := c.(map[string]any)
		statuses = append(statuses, map[string]any{
			"name": container["name"], "image": container["image"], "imageID": "", "ready": isReady == "True", "started": isReady == "True",
			"restartCount": int64(0), "state": state,
		})
	}
	return map[string]any{
		"phase": phase, "startTime": now(), "containerStatuses": statuses,
		"conditions": []any{
			condition("PodScheduled", "True", ""), condition("Initialized", "True", ""),
			condition("ContainersReady", isReady, ""), condition("Ready", isReady, ""),
		},
	}
}

// Summary returns a text about the status of an object that begins with a space or a colon, such as " is Running".
func Summary(o *object.Object) string {
	status, _ := o.Map()["status"].(map[string]any)
	if phase, ok := status["phase"].(string); ok {
		return " is " + phase
	}
	if n, ok := status["readyReplicas"].(int64); ok {
		return fmt.Sprintf(": %d of %d replicas are ready", n, replicas(o))
	}
	conditions, _ := status["conditions"].([]any)
	var names []string
	for _, item := range conditions {
		if c, _ := item.(map[string]any); c["status"] == "True" {
			names = append(names, fmt.Sprint(c["type"]))
		}
	}
	if len(names) > 0 {
		return " is " + strings.Join(names, ", ")
	}
	return ": status"
}
