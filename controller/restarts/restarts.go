// Package restarts says which changes of objects restart Pods, how, and how many: of Pods, and of the kinds of Kubernetes that have Pods.
package restarts

import (
	"slices"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine/tree"
)

// A How says how a change restarts Pods.
type How string

// The ways.
const (
	Recreated  How = "recreated"  // the Pod, or the owner of the Pods, is deleted and created again
	Replaced   How = "replaced"   // Kubernetes replaces the Pods one after the other: the Pod template of their owner changes
	ReplacedAt How = "stopped"    // Kubernetes stops all Pods, and then starts new ones: Deployment with strategy Recreate
	Containers How = "containers" // the kubelet restarts containers of the Pod
)

// These ways restart nothing, but a reader of a changed Pod template has to know them.
const (
	Held    How = "held"    // Pods keep running until somebody deletes them, or until the Deployment is not paused any more
	NewPods How = "newPods" // only Pods that are created later have the new template
)

// Restarts reports whether Pods restart.
func (h How) Restarts() bool { return h != "" && h != Held && h != NewPods }

// OfUpdate returns how an update of an object restarts Pods, and how many; nil if their number is not known.
func OfUpdate(before, after *object.Object) (How, *int) {
	kind, isWorkload := workloads[before.GroupVersionKind().GroupKind().String()]
	switch {
	case !isWorkload:
		return "", nil
	case before.GetKind() == "Pod":
		if slices.Equal(images(before), images(after)) {
			return "", nil
		}
		return Containers, kind.pods(before)
	case !templateDiffers(before, after, kind.template):
		return "", nil
	}
	return kind.how(after), kind.pods(before)
}

// OfRecreate returns how it restarts Pods that an object is deleted and created again, and how many; nil if their number is not known.
func OfRecreate(before *object.Object) (How, *int) {
	kind, isWorkload := workloads[before.GroupVersionKind().GroupKind().String()]
	if !isWorkload {
		return "", nil
	}
	return Recreated, kind.pods(before)
}

// Pods returns how many Pods an object is or has, as far as that is known.
func Pods(o *object.Object) int {
	kind, isWorkload := workloads[o.GroupVersionKind().GroupKind().String()]
	if !isWorkload {
		return 0
	}
	if n := kind.pods(o); n != nil {
		return *n
	}
	return 0
}

// Applied returns about what an object is after server-side apply of some fields: fields that are not applied any more stay, and lists are
// merged by the names of their items, or by their places.
func Applied(before, fields *object.Object) *object.Object {
	merged, _ := overlay(tree.Native(before.Map()), tree.Native(fields.Map())).(map[string]any)
	return object.New(merged)
}

// overlay returns a with the values of b.
func overlay(a, b any) any {
	switch b := b.(type) {
	case map[string]any:
		a, _ := a.(map[string]any)
		merged := make(map[string]any, len(a)+len(b))
		for key, value := range a {
			merged[key] = value
		}
		for key, value := range b {
			merged[key] = overlay(merged[key], value)
		}
		return merged
	case []any:
		a, _ := a.([]any)
		merged := make([]any, len(b))
		for i, item := range b {
			merged[i] = overlay(counterpart(a, i, item, len(a) == len(b)), item)
		}
		return merged
	}
	return b
}

// counterpart returns the item of a list that has the name of another item; or else, if aligned, the one at its place.
func counterpart(list []any, at int, item any, aligned bool) any {
	named, _ := item.(map[string]any)
	if named == nil {
		return nil
	}
	if name, isText := named["name"].(string); isText {
		i := slices.IndexFunc(list, func(other any) bool {
			m, _ := other.(map[string]any)
			its, _ := m["name"].(string)
			return m != nil && its == name
		})
		if i >= 0 {
			return list[i]
		}
		return nil
	}
	if aligned {
		return list[at]
	}
	return nil
}

// A workload is a kind of objects that are Pods, or have Pods.
type workload struct {
	template []string                  // the path of the Pod template
	how      func(*object.Object) How  // what a change of the template does
	pods     func(*object.Object) *int // how many Pods an object has; nil if it is not known
}

// workloads are the kinds by their group and kind.
var workloads = map[string]workload{
	"Pod":                   {pods: one},
	"Deployment.apps":       {inSpec, ofDeployment, replicas},
	"StatefulSet.apps":      {inSpec, ofUpdateStrategy, replicas},
	"DaemonSet.apps":        {inSpec, ofUpdateStrategy, numberAt("status", "desiredNumberScheduled")},
	"ReplicaSet.apps":       {inSpec, onlyNewPods, replicas},
	"ReplicationController": {inSpec, onlyNewPods, replicas},
	"Job.batch":             {inSpec, onlyNewPods, numberAt("status", "active")},
	"CronJob.batch":         {[]string{"spec", "jobTemplate", "spec", "template"}, onlyNewPods, func(*object.Object) *int { return nil }},
}

var inSpec = []string{"spec", "template"}

func one(*object.Object) *int { n := 1; return &n }

// replicas returns the number of Pods that an object has, or else of those that it wants, which are one if it does not say.
func replicas(o *object.Object) *int {
	if n := numberAt("status", "replicas")(o); n != nil {
		return n
	}
	if n := numberAt("spec", "replicas")(o); n != nil {
		return n
	}
	return one(o)
}

// numberAt returns a function that returns the number at a path; nil if there is none.
func numberAt(path ...string) func(*object.Object) *int {
	return func(o *object.Object) *int {
		v, _ := o.Field(path...)
		switch v := v.(type) {
		case int64:
			n := int(v)
			return &n
		case float64:
			n := int(v)
			return &n
		}
		return nil
	}
}

func ofDeployment(o *object.Object) How {
	if paused, _ := o.Field("spec", "paused"); paused == true {
		return Held
	}
	if o.TextAt("spec", "strategy", "type") == "Recreate" {
		return ReplacedAt
	}
	return Replaced
}

func ofUpdateStrategy(o *object.Object) How {
	if o.TextAt("spec", "updateStrategy", "type") == "OnDelete" {
		return Held
	}
	return Replaced
}

func onlyNewPods(*object.Object) How { return NewPods }

func templateDiffers(before, after *object.Object, path []string) bool {
	a, _ := before.Field(path...)
	b, _ := after.Field(path...)
	return plan.Difference(map[string]any{"value": a}, map[string]any{"value": b}) != ""
}

// images returns the images of the containers of a Pod, which can be changed in place.
func images(pod *object.Object) []string {
	var found []string
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := pod.Field("spec", field)
		items, _ := list.([]any)
		for _, item := range items {
			container, _ := item.(map[string]any)
			image, _ := container["image"].(string)
			found = append(found, image)
		}
	}
	return found
}
