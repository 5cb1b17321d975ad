package changeplan

import (
	"slices"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A Restart says how a change restarts Pods.
type Restart string

// The ways.
const (
	Recreated  Restart = "recreated"  // the Pod, or the owner of the Pods, is deleted and created again
	Replaced   Restart = "replaced"   // Kubernetes replaces the Pods one after the other: the Pod template of their owner changes
	ReplacedAt Restart = "stopped"    // Kubernetes stops all Pods, and then starts new ones: Deployment with strategy Recreate
	Containers Restart = "containers" // the kubelet restarts containers of the Pod
)

// These ways restart nothing, but a reader of a changed Pod template has to know them.
const (
	Held    Restart = "held"    // Pods keep running until somebody deletes them, or until the Deployment is not paused any more
	NewPods Restart = "newPods" // only Pods that are created later have the new template
)

// Restarts reports whether Pods restart.
func (r Restart) Restarts() bool { return r != "" && r != Held && r != NewPods }

// RestartOf returns how a write restarts Pods, and how many; nil if their number is not known.
func RestartOf(w *Write) (Restart, *int) {
	if w.NoRestart || w.Before == nil {
		return "", nil
	}
	kind, isWorkload := workloads[w.Object.Kind.GroupKind().String()]
	switch {
	case w.Action == Recreate && isWorkload:
		return Recreated, kind.pods(w.Before)
	case w.Action != Update || !isWorkload || w.After == nil:
		return "", nil
	case w.Object.Kind.Kind == "Pod":
		if slices.Equal(images(w.Before), images(w.After)) {
			return "", nil
		}
		return Containers, kind.pods(w.Before)
	case !templateDiffers(w.Before, w.After, kind.template):
		return "", nil
	}
	return kind.how(w.After), kind.pods(w.Before)
}

// A workload is a kind of objects that are Pods, or have Pods.
type workload struct {
	template []string                     // the path of the Pod template
	how      func(*object.Object) Restart // what a change of the template does
	pods     func(*object.Object) *int    // how many Pods an object has; nil if it is not known
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

func ofDeployment(o *object.Object) Restart {
	if paused, _ := o.Field("spec", "paused"); paused == true {
		return Held
	}
	if o.TextAt("spec", "strategy", "type") == "Recreate" {
		return ReplacedAt
	}
	return Replaced
}

func ofUpdateStrategy(o *object.Object) Restart {
	if o.TextAt("spec", "updateStrategy", "type") == "OnDelete" {
		return Held
	}
	return Replaced
}

func onlyNewPods(*object.Object) Restart { return NewPods }

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
