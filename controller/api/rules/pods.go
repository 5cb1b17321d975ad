package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podTemplate is the rule for a template of Pods.
func podTemplate(path *field.Path, template values) field.ErrorList {
	if template == nil {
		return nil // the schema requires it
	}
	metadata := template.below("metadata")
	errs := metav1validation.ValidateLabels(textsOf(metadata.below("labels")), path.Child("labels"))
	errs = append(errs, validation.ValidateAnnotations(textsOf(metadata.below("annotations")), path.Child("annotations"))...)
	return append(errs, podSpec(path.Child("spec"), template.below("spec"))...)
}

// podSpec is the rule for the spec of a Pod.
func podSpec(path *field.Path, spec values) field.ErrorList {
	volumes, names := map[string]bool{}, map[string]bool{}
	errs := spec.each(path, "volumes", func(path *field.Path, volume values) field.ErrorList {
		return append(uniqueLabel(path.Child("name"), volume.text("name"), volumes), oneOf(path, volume, volumeTypes, "may not specify more than 1 volume type")...)
	})
	if containers, _ := spec["containers"].([]any); len(containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	for _, list := range []string{"containers", "initContainers"} {
		errs = append(errs, spec.each(path, list, func(path *field.Path, container values) field.ErrorList {
			errs := uniqueLabel(path.Child("name"), container.text("name"), names)
			return append(errs, containerRule(path, container, volumes)...)
		})...)
	}
	errs = append(errs, hostPorts(path, spec)...)
	if servers, _ := spec.below("dnsConfig")["nameservers"].([]any); spec.text("dnsPolicy") == "None" && len(servers) == 0 {
		errs = append(errs, noNameservers(path, spec))
	}
	for name := range spec.below("nodeSelector") {
		errs = append(errs, metav1validation.ValidateLabels(map[string]string{name: spec.below("nodeSelector").text(name)}, path.Child("nodeSelector"))...)
	}
	return append(errs, notNegative(path, spec, "terminationGracePeriodSeconds")...)
}

// volumeTypes are the fields of a volume of which it has one, in the order in which the API server checks them.
var volumeTypes = []string{
	"emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker",
	"persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "configMap", "azureFile", "vsphereVolume",
	"photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "ephemeral", "csi", "image",
}

// oneOf returns an error for each of these fields that an object has besides the first.
func oneOf(path *field.Path, o values, names []string, text string) field.ErrorList {
	var errs field.ErrorList
	found := false
	for _, name := range names {
		if o[name] == nil {
			continue
		}
		if found {
			errs = append(errs, field.Forbidden(path.Child(name), text))
		}
		found = true
	}
	return errs
}

// hostPorts returns an error for each port of the node that another container has too.
func hostPorts(path *field.Path, spec values) field.ErrorList {
	used := map[string]bool{}
	return spec.each(path, "containers", func(path *field.Path, container values) field.ErrorList {
		return container.each(path, "ports", func(path *field.Path, port values) field.ErrorList {
			n, _ := port["hostPort"].(int64)
			if n == 0 {
				return nil
			}
			key := fmt.Sprintf("%s/%s/%d", cmp.Or(port.text("protocol"), "TCP"), port.text("hostIP"), n)
			if used[key] {
				return field.ErrorList{field.Duplicate(path.Child("hostPort"), key)}
			}
			used[key] = true
			return nil
		})
	})
}

// noNameservers is the error of a Pod that has a DNS configuration of its own without a server.
func noNameservers(path *field.Path, spec values) *field.Error {
	if spec.below("dnsConfig") == nil {
		return field.Required(path.Child("dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None")
	}
	return field.Required(path.Child("dnsConfig", "nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")
}

// uniqueLabel returns an error if a name is not a DNS label, or is in names already, to which it adds it.
func uniqueLabel(path *field.Path, name string, names map[string]bool) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := invalid(path, name, utilvalidation.IsDNS1123Label(name))
	if names[name] {
		errs = append(errs, field.Duplicate(path, name))
	}
	names[name] = true
	return errs
}

// containerRule is the rule for a container, except for its name. The names are those of the volumes.
func containerRule(path *field.Path, container values, volumes map[string]bool) field.ErrorList {
	var errs field.ErrorList
	if container.text("image") == "" {
		errs = append(errs, field.Required(path.Child("image"), ""))
	}
	names := map[string]bool{}
	errs = append(errs, container.each(path, "ports", func(path *field.Path, port values) field.ErrorList {
		errs := portName(path.Child("name"), port.text("name"), names)
		if port["containerPort"] == nil {
			errs = append(errs, field.Required(path.Child("containerPort"), ""))
		}
		errs = append(errs, portNumber(path.Child("containerPort"), port["containerPort"])...)
		if port["hostPort"] != int64(0) {
			errs = append(errs, portNumber(path.Child("hostPort"), port["hostPort"])...)
		}
		return errs
	})...)
	errs = append(errs, container.each(path, "env", envRule)...)
	mounted := map[string]bool{}
	errs = append(errs, container.each(path, "volumeMounts", func(path *field.Path, mount values) field.ErrorList {
		var errs field.ErrorList
		if name := mount.text("name"); name != "" && !volumes[name] {
			errs = append(errs, field.NotFound(path.Child("name"), name))
		}
		at := mount.text("mountPath")
		if at == "" {
			errs = append(errs, field.Required(path.Child("mountPath"), ""))
		}
		if mounted[at] {
			errs = append(errs, field.Invalid(path.Child("mountPath"), at, "must be unique"))
		}
		mounted[at] = true
		return errs
	})...)
	errs = append(errs, resources(path.Child("resources"), container.below("resources"))...)
	for _, name := range []string{"postStart", "preStop"} {
		errs = append(errs, handler(path.Child("lifecycle"), container.below("lifecycle"), name, "exec", "httpGet", "tcpSocket", "sleep")...)
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		errs = append(errs, handler(path, container, name, "exec", "httpGet", "tcpSocket", "grpc")...)
	}
	return errs
}

// envRule is the rule for a variable of the environment.
func envRule(path *field.Path, env values) field.ErrorList {
	name := env.text("name")
	if name == "" {
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	errs := invalid(path.Child("name"), name, utilvalidation.IsRelaxedEnvVarName(name))
	if env.below("valueFrom") != nil && env.text("value") != "" {
		errs = append(errs, field.Invalid(path.Child("valueFrom"), "", "may not be specified when `value` is not empty"))
	}
	return errs
}

// handler returns an error if a probe, or a hook of the lifecycle, does not have exactly one handler.
func handler(path *field.Path, in values, name string, handlers ...string) field.ErrorList {
	of := in.below(name)
	if of == nil {
		return nil
	}
	if !slices.ContainsFunc(handlers, func(handler string) bool { return of[handler] != nil }) {
		return field.ErrorList{field.Required(path.Child(name), "must specify a handler type")}
	}
	return oneOf(path.Child(name), of, handlers, "may not specify more than 1 handler type")
}

// resources returns an error for each request that is above its limit.
func resources(path *field.Path, of values) field.ErrorList {
	var errs field.ErrorList
	requests, limits := of.below("requests"), of.below("limits")
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request, ok := quantity(requests[name])
		limit, limited := quantity(limits[name])
		if ok && limited && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests"), request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	return errs
}

// quantity reads a quantity, which may be a number.
func quantity(v any) (resource.Quantity, bool) {
	switch v.(type) {
	case string, int64, float64:
		q, err := resource.ParseQuantity(fmt.Sprint(v))
		return q, err == nil
	}
	return resource.Quantity{}, false
}

// portName is the rule for the name of a port of a container, which may have none.
func portName(path *field.Path, name string, names map[string]bool) field.ErrorList {
	if name == "" {
		return nil
	}
	errs := invalid(path, name, utilvalidation.IsValidPortName(name))
	if len(errs) == 0 && names[name] {
		errs = append(errs, field.Duplicate(path, name))
	}
	names[name] = true
	return errs
}

// portNumber returns an error if a port is a number that no port has.
func portNumber(path *field.Path, port any) field.ErrorList {
	if n, ok := port.(int64); ok {
		return invalid(path, n, utilvalidation.IsValidPortNum(int(n)))
	}
	return nil
}
