package memapi

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/object"
)

// setDefaults sets the defaults of Kubernetes' kinds that are in the code of the API server, of those kinds that controllers create
// often.
func setDefaults(o *object.Object) {
	if set, ok := ruleFor(defaultsOf, o); ok {
		spec, _ := o.Map()["spec"].(map[string]any)
		set(o.Map(), spec)
	}
}

// values are fields with their defaults.
type values map[string]any

// defaultsOf set the defaults of an object and of its spec, which may be nil, by kind.
var defaultsOf = map[string]func(o, spec values){
	"Pod": func(_, spec values) { defaultPod(spec) },
	"Deployment": func(_, spec values) {
		spec.set(values{
			"replicas": int64(1), "progressDeadlineSeconds": int64(600), "revisionHistoryLimit": int64(10),
			"strategy": values{"type": "RollingUpdate", "rollingUpdate": values{"maxSurge": "25%", "maxUnavailable": "25%"}},
		})
		defaultTemplate(spec)
	},
	"ReplicaSet": func(_, spec values) {
		spec.set(values{"replicas": int64(1)})
		defaultTemplate(spec)
	},
	"StatefulSet": func(_, spec values) {
		spec.set(values{
			"replicas": int64(1), "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": int64(10),
			"updateStrategy":                       values{"type": "RollingUpdate", "rollingUpdate": values{"partition": int64(0)}},
			"persistentVolumeClaimRetentionPolicy": values{"whenDeleted": "Retain", "whenScaled": "Retain"},
		})
		defaultTemplate(spec)
	},
	"DaemonSet": func(_, spec values) {
		spec.set(values{
			"revisionHistoryLimit": int64(10),
			"updateStrategy":       values{"type": "RollingUpdate", "rollingUpdate": values{"maxSurge": int64(0), "maxUnavailable": int64(1)}},
		})
		defaultTemplate(spec)
	},
	"Job": func(_, spec values) {
		spec.set(values{"parallelism": int64(1), "backoffLimit": int64(6), "completionMode": "NonIndexed", "suspend": false, "podReplacementPolicy": "TerminatingOrFailed"})
		if spec["completions"] == nil && spec["parallelism"] == int64(1) {
			spec.set(values{"completions": int64(1)})
		}
		defaultTemplate(spec)
	},
	"Service": func(_, spec values) {
		spec.set(values{"type": "ClusterIP", "sessionAffinity": "None"})
		if spec["type"] != "ExternalName" {
			spec.set(values{"internalTrafficPolicy": "Cluster", "ipFamilies": []any{"IPv4"}, "ipFamilyPolicy": "SingleStack"})
		}
		spec.each("ports", func(port values) {
			if port["targetPort"] == int64(0) { // how its Go type shows that it is not set
				delete(port, "targetPort")
			}
			port.set(values{"protocol": "TCP", "targetPort": port["port"]})
		})
	},
	"PersistentVolumeClaim": func(_, spec values) { spec.set(values{"volumeMode": "Filesystem"}) },
	"Secret": func(o, _ values) {
		o.set(values{"type": "Opaque"})
		plain, _ := o["stringData"].(map[string]any)
		for key, text := range plain {
			o.set(values{"data": values{}})
			o["data"].(map[string]any)[key] = base64.StdEncoding.EncodeToString(fmt.Append(nil, text))
		}
		delete(o, "stringData")
	},
}

// set sets those defaults that are not set, also in the objects below.
func (f values) set(defaults values) {
	if f == nil {
		return
	}
	for name, value := range defaults {
		below, isObject := value.(values)
		current, has := f[name].(map[string]any)
		switch {
		case isObject && has:
			if kind := below["type"]; kind == nil || current["type"] == nil || current["type"] == kind { // another type has other fields
				values(current).set(below)
			}
		case f[name] != nil:
		case isObject:
			made := values{}
			made.set(below)
			f[name] = map[string]any(made)
		default:
			f[name] = value
		}
	}
}

// each calls set with the objects in a list.
func (f values) each(name string, set func(values)) {
	list, _ := f[name].([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			set(m)
		}
	}
}

// below returns an object in f, or nil.
func (f values) below(name string) values {
	m, _ := f[name].(map[string]any)
	return m
}

func defaultTemplate(spec values) { defaultPod(spec.below("template").below("spec")) }

func defaultPod(spec values) {
	spec.set(values{
		"restartPolicy": "Always", "terminationGracePeriodSeconds": int64(30), "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
		"securityContext": values{},
	})
	for _, name := range []string{"containers", "initContainers"} {
		spec.each(name, func(container values) {
			container.set(values{
				"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": pullPolicy(container["image"]),
				"resources": values{},
			})
			container.each("ports", func(port values) { port.set(values{"protocol": "TCP"}) })
		})
	}
}

// pullPolicy returns the default of imagePullPolicy: Always for the tag latest.
func pullPolicy(image any) string {
	text, _ := image.(string)
	name := text[strings.LastIndex(text, "/")+1:]
	if strings.HasSuffix(name, ":latest") || !strings.ContainsAny(name, ":@") {
		return "Always"
	}
	return "IfNotPresent"
}

// ruleFor returns the entry of a table for an object of a kind that is in the code of the API server.
func ruleFor[F any](table map[string]F, o *object.Object) (F, bool) {
	rule, ok := table[o.GetKind()]
	return rule, ok && slices.Contains([]string{"v1", "apps/v1", "batch/v1"}, o.GetAPIVersion())
}
