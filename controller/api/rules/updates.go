package rules

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An updateRule returns what is wrong with a change.
type updateRule func(o, before values) field.ErrorList

// updates are the rules about fields that cannot be changed, so that an object has to be deleted and created again, by kind.
var updates = map[string]updateRule{
	"v1 Pod":              onlySome(podText, "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"),
	"apps/v1 StatefulSet": onlySome(statefulSetText, "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
	"v1 PersistentVolumeClaim": onlySome("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
		"resources", "volumeAttributesClassName", "volumeName"),
	"apps/v1 Deployment": fixed("selector"), "apps/v1 ReplicaSet": fixed("selector"), "apps/v1 DaemonSet": fixed("selector"),
	"batch/v1 Job": fixed("selector", "completions", "completionMode", "template.spec"),
	"v1 Service":   fixedClusterIP,
	"v1 ConfigMap": immutableData, "v1 Secret": immutableData,
}

const (
	podText = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
		"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
	statefulSetText = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', " +
		"'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)

// ValidateUpdate returns why an object of one of Kubernetes' kinds cannot be changed from before to o. It does not include the errors
// of [Validate].
func ValidateUpdate(o, before map[string]any) field.ErrorList {
	check, ok := updates[values(o).text("apiVersion")+" "+values(o).text("kind")]
	if !ok {
		return nil
	}
	return check(o, before)
}

var specPath = field.NewPath("spec")

// specOf returns a copy of spec.
func specOf(o values) values { return runtime.DeepCopyJSON(o.below("spec")) }

// onlySome returns the rule that only these fields of spec, and images of containers, can be changed.
func onlySome(text string, names ...string) updateRule {
	return func(o, before values) field.ErrorList {
		after, old := specOf(o), specOf(before)
		for _, name := range names {
			delete(after, name)
			delete(old, name)
		}
		withoutImages(after)
		withoutImages(old)
		if reflect.DeepEqual(after, old) {
			return nil
		}
		return field.ErrorList{field.Forbidden(specPath, text)}
	}
}

func withoutImages(spec values) {
	for _, name := range []string{"containers", "initContainers"} {
		containers, _ := spec[name].([]any)
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				delete(container, "image")
			}
		}
	}
}

// at returns the value at a path of fields.
func (v values) at(path string) any {
	name, rest, more := strings.Cut(path, ".")
	if !more {
		return v[name]
	}
	return v.below(name).at(rest)
}

// fixed returns the rule that these fields of spec cannot be changed.
func fixed(paths ...string) updateRule {
	return func(o, before values) field.ErrorList {
		var errs field.ErrorList
		for _, path := range paths {
			after, old := o.below("spec").at(path), before.below("spec").at(path)
			if !reflect.DeepEqual(after, old) {
				errs = append(errs, field.Invalid(specPath.Child(path), after, "field is immutable"))
			}
		}
		return errs
	}
}

func fixedClusterIP(o, before values) field.ErrorList {
	after, old := o.below("spec"), before.below("spec")
	if old["clusterIP"] == nil || old["clusterIP"] == "" || after["clusterIP"] == old["clusterIP"] || after["type"] == "ExternalName" {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("clusterIPs").Index(0), []any{after["clusterIP"]}, "may not change once set")}
}

// immutableData is the rule for ConfigMaps and Secrets.
func immutableData(o, before values) field.ErrorList {
	var errs field.ErrorList
	if before["immutable"] == true {
		if o["immutable"] != true {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), "field is immutable when `immutable` is set"))
		}
		for _, name := range []string{"data", "binaryData"} {
			if !reflect.DeepEqual(o[name], before[name]) {
				errs = append(errs, field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set"))
			}
		}
	}
	if o.text("kind") == "Secret" && o["type"] != before["type"] {
		errs = append(errs, field.Invalid(field.NewPath("type"), o["type"], "field is immutable"))
	}
	return errs
}
