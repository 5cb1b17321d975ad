package rules

import (
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
		return uniqueLabel(path.Child("name"), volume.text("name"), volumes)
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
	for name := range spec.below("nodeSelector") {
		errs = append(errs, metav1validation.ValidateLabels(map[string]string{name: spec.below("nodeSelector").text(name)}, path.Child("nodeSelector"))...)
	}
	return append(errs, notNegative(path, spec, "terminationGracePeriodSeconds")...)
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
	errs = append(errs, container.each(path, "volumeMounts", func(path *field.Path, mount values) field.ErrorList {
		var errs field.ErrorList
		if name := mount.text("name"); name != "" && !volumes[name] {
			errs = append(errs, field.NotFound(path.Child("name"), name))
		}
		if mount.text("mountPath") == "" {
			errs = append(errs, field.Required(path.Child("mountPath"), ""))
		}
		return errs
	})...)
	return append(errs, container.each(path, "env", func(path *field.Path, env values) field.ErrorList {
		name := env.text("name")
		if name == "" {
			return field.ErrorList{field.Required(path.Child("name"), "")}
		}
		return invalid(path.Child("name"), name, utilvalidation.IsRelaxedEnvVarName(name))
	})...)
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

// service is the rule for Services.
func service(path *field.Path, _, spec values) field.ErrorList {
	errs := metav1validation.ValidateLabels(textsOf(spec.below("selector")), path.Child("selector"))
	ports, _ := spec["ports"].([]any)
	kind := spec.text("type")
	if len(ports) == 0 && kind != "ExternalName" && spec.text("clusterIP") != "None" {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	if kind == "ExternalName" && spec.text("externalName") == "" {
		errs = append(errs, field.Required(path.Child("externalName"), ""))
	}
	names := map[string]bool{}
	return append(errs, spec.each(path, "ports", func(path *field.Path, port values) field.ErrorList {
		var errs field.ErrorList
		if port.text("name") != "" || len(ports) > 1 {
			errs = append(errs, uniqueLabel(path.Child("name"), port.text("name"), names)...)
		}
		errs = append(errs, portNumber(path.Child("port"), port["port"])...)
		switch target := port["targetPort"].(type) {
		case int64:
			errs = append(errs, portNumber(path.Child("targetPort"), target)...)
		case string:
			errs = append(errs, invalid(path.Child("targetPort"), target, utilvalidation.IsValidPortName(target))...)
		}
		return errs
	})...)
}
