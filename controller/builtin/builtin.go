// Package builtin knows the fields of the built-in kinds that the API server does not return as they were written: write-only ones, and
// those that it fills in if they are empty.
package builtin

import (
	"encoding/base64"
	"iter"
	"slices"

	"metascript/controller/object"
)

// Normalize changes the content of an object, as a hook returned it, to the form in which it is compared and written. Write-only fields
// of built-in kinds become the fields that the API server makes of them: it never returns a write-only field, so it could not be
// compared, and the fields that were made of it would not be removed with it. Empty fields that are filled in later are left out.
func Normalize(content map[string]any) {
	kind, _ := content["kind"].(string)
	version, _ := content["apiVersion"].(string)
	spec := mapOf(content["spec"])
	if version == "v1" {
		if kind == "Secret" {
			encodeStringData(content)
		}
		dropUnset(spec, assigned[kind])
		if kind == "Service" {
			dropUnsetPorts(spec)
		}
	}
	if inside, isTemplate := podSpecs[version+" "+kind]; isTemplate {
		for _, field := range inside {
			spec = mapOf(spec[field])
		}
		for _, field := range containerLists {
			containers, _ := spec[field].([]any)
			for _, container := range containers {
				dropUnsetPorts(mapOf(container))
			}
		}
	}
}

// assigned are the fields of specs, by kind of the API version v1, that the API server or a controller of Kubernetes fills in later, if
// they are empty. An empty text, or 0, means that they are not set.
var assigned = map[string][]string{
	"Pod":                   {"nodeName", "serviceAccountName", "serviceAccount", "schedulerName"},
	"PersistentVolumeClaim": {"volumeName"},
	"Service":               {"clusterIP", "healthCheckNodePort"},
}

// podSpecs are the fields of spec in which kinds have the spec of a Pod.
var podSpecs = map[string][]string{
	"v1 Pod": nil, "v1 ReplicationController": inTemplate, "apps/v1 Deployment": inTemplate, "apps/v1 ReplicaSet": inTemplate,
	"apps/v1 StatefulSet": inTemplate, "apps/v1 DaemonSet": inTemplate, "batch/v1 Job": inTemplate,
	"batch/v1 CronJob": {"jobTemplate", "spec", "template", "spec"},
}

var (
	inTemplate     = []string{"template", "spec"}
	containerLists = []string{"containers", "initContainers", "ephemeralContainers"}
)

// dropUnsetPorts drops the fields of ports that are not set. The protocol is a part of their key, so that a port without it is another
// one than a port whose protocol is empty.
func dropUnsetPorts(of map[string]any) {
	ports, _ := of["ports"].([]any)
	for _, port := range ports {
		dropUnset(mapOf(port), portFields)
	}
}

var portFields = []string{"nodePort", "protocol"}

// dropUnset drops the fields that are an empty text or 0.
func dropUnset(of map[string]any, fields []string) {
	for _, field := range fields {
		if value := of[field]; value == "" || isZero(value) {
			delete(of, field)
		}
	}
}

// unsetByZero are the numbers of built-in kinds that have a default if they are 0, besides those that Normalize leaves out.
var unsetByZero = []string{"periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold", "targetPort"}

// IsUnset reports whether a value, as a hook returned it, means that the field of this name is not set.
func IsUnset(field string, want any) bool { return isZero(want) && slices.Contains(unsetByZero, field) }

func isZero(v any) bool { return v == int64(0) || v == 0.0 }

// Compared yields the fields of an observed child that are compared if a hook returned want: those of want, except for write-only ones,
// in place of which it yields the field that the API server makes of it.
func Compared(want *object.Object) iter.Seq[string] {
	return func(yield func(string) bool) {
		for field := range want.Map() {
			if field == "stringData" && want.GetKind() == "Secret" {
				field = "data"
			}
			if !yield(field) {
				return
			}
		}
	}
}

// encodeStringData moves the stringData of a Secret to its data, where it replaces the values of the same keys. It changes nothing if
// stringData has another type than the API server accepts, so that the API server reports it.
func encodeStringData(secret map[string]any) {
	plain, isMap := secret["stringData"].(map[string]any)
	data, hasData := secret["data"].(map[string]any)
	if !isMap || secret["data"] != nil && !hasData {
		return
	}
	for _, value := range plain {
		if _, isText := value.(string); !isText && value != nil {
			return
		}
	}
	delete(secret, "stringData")
	if len(plain) == 0 {
		return
	}
	if data == nil {
		data = map[string]any{}
		secret["data"] = data
	}
	for key, value := range plain {
		if text, isText := value.(string); isText {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
}

// mapOf returns v if it is a map, and nil otherwise.
func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
