package tree

import (
	"fmt"
	"slices"
	"strings"

	"metascript/controller/object"
	"metascript/controller/rollout"
)

// Readiness says whether an object is ready.
type Readiness string

// The values of Readiness.
const (
	Ready    Readiness = "True"
	NotReady Readiness = "False"
	Unclear  Readiness = "" // its status does not say it
)

// failures are the conditions that say of an object that it has failed, if they are True.
var failures = []string{"Failed", "Stalled", "ReplicaFailure"}

// readies are the conditions that say of an object that it is ready, if they are True. The first one that an object has decides.
var readies = []string{"Ready", "Available", "Complete", "Established", "Synced"}

// ReadinessOf returns whether an object is ready, and why it is not:
//
//   - An object that is being deleted, whose controller has not observed its last change, or with a condition that says that it has
//     failed, is not ready.
//   - Pods, PersistentVolumeClaims and workloads of the group apps are ready as kubectl shows it: by their phase and their replicas.
//   - Otherwise one of the usual conditions decides, such as Ready or Available. An object without them says nothing.
func ReadinessOf(o *object.Object) (Readiness, []string) {
	if object.Deleting(o) {
		return NotReady, nil
	}
	if wrong := rollout.Unobserved(o); wrong != "" {
		return NotReady, []string{clip(wrong)}
	}
	conditions := ConditionsOf(o)
	var why []string
	for _, name := range failures {
		if c := find(conditions, name); c != nil && c.Status == "True" {
			why = append(why, clip(c.String()))
		}
	}
	if len(why) > 0 {
		return NotReady, why
	}
	if is, why, known := byKind(o); known {
		return is, limited(append(why, progress(conditions, is)...))
	}
	for _, name := range readies {
		c := find(conditions, name)
		switch {
		case c == nil:
		case c.Status == "True":
			return Ready, nil
		default:
			why := []string{clip(c.String())}
			if o.GetKind() == "Pod" {
				why = append(why, containers(o)...)
			}
			return NotReady, limited(append(why, progress(conditions, NotReady)...))
		}
	}
	return Unclear, nil
}

// progress returns the condition Progressing if it says why an object is not ready.
func progress(conditions []Condition, is Readiness) []string {
	if c := find(conditions, "Progressing"); is == NotReady && c != nil && c.Status == "False" {
		return []string{clip(c.String())}
	}
	return nil
}

func limited(why []string) []string { return why[:min(len(why), maxReasons)] }

// byKind returns whether an object of a kind of Kubernetes is ready; known is false if the conditions say it.
func byKind(o *object.Object) (is Readiness, why []string, known bool) {
	kind, phase := o.GroupVersionKind(), o.TextAt("status", "phase")
	switch {
	case kind.Group == "" && kind.Kind == "Pod" && phase == "Succeeded":
		return Ready, nil, true
	case kind.Group == "" && kind.Kind == "Pod" && phase == "Failed":
		return NotReady, append([]string{clip("it has failed: " + o.TextAt("status", "reason"))}, containers(o)...), true
	case kind.Group == "" && kind.Kind == "PersistentVolumeClaim" && phase != "":
		if phase == "Bound" {
			return Ready, nil, true
		}
		return NotReady, []string{clip("its phase is " + phase)}, true
	case kind.Group == "apps" && kind.Kind == "DaemonSet":
		return replicas(number(o, "status", "desiredNumberScheduled"), number(o, "status", "numberReady"))
	case kind.Group == "apps" && slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet"}, kind.Kind):
		want := int64(1)
		if _, set := o.At("spec", "replicas"); set {
			want = number(o, "spec", "replicas")
		}
		return replicas(want, number(o, "status", "readyReplicas"))
	}
	return Unclear, nil, false
}

func replicas(want, ready int64) (Readiness, []string, bool) {
	if ready >= want {
		return Ready, nil, true
	}
	return NotReady, []string{fmt.Sprintf("%d of %d replicas are ready", ready, want)}, true
}

func number(o *object.Object, path ...string) int64 {
	value, _ := o.At(path...)
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// containers returns why containers of a Pod do not run, such as "container web: ImagePullBackOff".
func containers(o *object.Object) []string {
	value, _ := o.Field("status", "containerStatuses")
	list, _ := value.([]any)
	var why []string
	for _, item := range list {
		status, _ := item.(map[string]any)
		name, _ := status["name"].(string)
		state, _ := status["state"].(map[string]any)
		for _, in := range []string{"waiting", "terminated"} {
			of, _ := state[in].(map[string]any)
			if reason, _ := of["reason"].(string); reason != "" && reason != "Completed" {
				why = append(why, clip("container "+name+": "+reason))
			}
		}
	}
	return why
}

// A Condition is a condition in the status of an object.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// String returns a text such as "Ready=False ContainersNotReady: containers with unready status: [a]".
func (c Condition) String() string {
	text := c.Type + "=" + c.Status
	if c.Reason != "" {
		text += " " + c.Reason
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// ConditionsOf returns the conditions of an object. They do not keep it in memory.
func ConditionsOf(o *object.Object) []Condition {
	value, _ := o.Field("status", "conditions")
	list, _ := value.([]any)
	var all []Condition
	for _, item := range list {
		fields, _ := item.(map[string]any)
		text := func(field string) string { s, _ := fields[field].(string); return strings.Clone(s) }
		if text("type") != "" {
			all = append(all, Condition{text("type"), text("status"), text("reason"), text("message")})
		}
	}
	return all
}

func find(conditions []Condition, name string) *Condition {
	if i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == name }); i >= 0 {
		return &conditions[i]
	}
	return nil
}
