package rules

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
	names, used := map[string]bool{}, map[servicePort]bool{}
	var duplicates field.ErrorList // the API server looks for them last
	errs = append(errs, spec.each(path, "ports", func(path *field.Path, port values) field.ErrorList {
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
		if (kind == "" || kind == "ClusterIP") && port["nodePort"] != nil && port["nodePort"] != int64(0) {
			errs = append(errs, field.Forbidden(path.Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
		if n, ok := port["port"].(int64); ok {
			key := servicePort{Protocol: cmp.Or(port.text("protocol"), "TCP"), Port: n}
			if used[key] {
				duplicates = append(duplicates, field.Duplicate(path, key))
			}
			used[key] = true
		}
		return errs
	})...)
	return append(errs, duplicates...)
}

// A servicePort is what two ports of a Service must not both have, with the fields that the API server shows of it.
type servicePort struct {
	Name        string
	Protocol    string
	AppProtocol *string
	Port        int64
	TargetPort  int
	NodePort    int
}

// deployment is the rule for Deployments.
func deployment(path *field.Path, o, spec values) field.ErrorList {
	errs := workload(path, o, spec)
	strategy := spec.below("strategy")
	update := strategy.below("rollingUpdate")
	path = path.Child("strategy", "rollingUpdate")
	if update == nil {
		return errs
	}
	if strategy.text("type") == "Recreate" {
		return append(errs, field.Forbidden(path, "may not be specified when strategy `type` is 'Recreate'"))
	}
	errs = append(errs, rollingUpdate(path, update)...)
	if isZero(update["maxUnavailable"]) && isZero(update["maxSurge"]) {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), update["maxUnavailable"], "may not be 0 when `maxSurge` is 0"))
	}
	return errs
}

// daemonSet is the rule for DaemonSets.
func daemonSet(path *field.Path, o, spec values) field.ErrorList {
	return append(workload(path, o, spec), rollingUpdate(path.Child("updateStrategy", "rollingUpdate"), spec.below("updateStrategy").below("rollingUpdate"))...)
}

func rollingUpdate(path *field.Path, of values) field.ErrorList {
	return append(numberOrPercent(path, of, "maxUnavailable"), numberOrPercent(path, of, "maxSurge")...)
}

// numberOrPercent returns an error if a field is a negative number, or a text that is no percentage.
func numberOrPercent(path *field.Path, in values, name string) field.ErrorList {
	if text, ok := in[name].(string); ok {
		return invalid(path.Child(name), text, utilvalidation.IsValidPercent(text))
	}
	return notNegative(path, in, name)
}

// isZero reports whether a number or a percentage is given, and is 0.
func isZero(v any) bool {
	if text, ok := v.(string); ok {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
		return err == nil && n == 0
	}
	return v == int64(0)
}

// disruptionBudget is the rule for PodDisruptionBudgets.
func disruptionBudget(path *field.Path, _, spec values) field.ErrorList {
	var errs field.ErrorList
	if spec["minAvailable"] != nil && spec["maxUnavailable"] != nil {
		shown := struct{ MinAvailable, Selector, MaxUnavailable, UnhealthyPodEvictionPolicy any }{
			spec["minAvailable"], spec["selector"], spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"],
		}
		errs = append(errs, field.Invalid(path, shown, "minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, numberOrPercent(path, spec, "minAvailable")...)
	errs = append(errs, numberOrPercent(path, spec, "maxUnavailable")...)
	of := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec.below("selector"), of); err != nil {
		return errs // the schema says why
	}
	return append(errs, metav1validation.ValidateLabelSelector(of, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
}

// autoscaler is the rule for HorizontalPodAutoscalers.
func autoscaler(path *field.Path, _, spec values) field.ErrorList {
	least, hasLeast := spec["minReplicas"].(int64)
	most, hasMost := spec["maxReplicas"].(int64)
	var errs field.ErrorList
	if hasMost && most < 1 {
		errs = append(errs, field.Required(path.Child("maxReplicas"), "must be set and greater than 0"))
	}
	if hasLeast && hasMost && most < least {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), most, "must be greater than or equal to `minReplicas`"))
	}
	return errs
}

// ingress is the rule for Ingresses.
func ingress(path *field.Path, _, spec values) field.ErrorList {
	return spec.each(path, "rules", func(path *field.Path, rule values) field.ErrorList {
		host := rule.text("host")
		path = path.Child("host")
		switch {
		case host == "":
			return nil
		case net.ParseIP(host) != nil:
			return field.ErrorList{field.Invalid(path, host, "must be a DNS name, not an IP address")}
		case strings.Contains(host, "*"):
			return invalid(path, host, utilvalidation.IsWildcardDNS1123Subdomain(host))
		}
		return invalid(path, host, utilvalidation.IsDNS1123Subdomain(host))
	})
}

// roleBinding is the rule for RoleBindings and ClusterRoleBindings.
func roleBinding(_ *field.Path, o, _ values) field.ErrorList {
	return o.each(nil, "subjects", func(path *field.Path, subject values) field.ErrorList {
		var errs field.ErrorList
		if subject.text("name") == "" {
			errs = append(errs, field.Required(path.Child("name"), ""))
		}
		switch kind := subject.text("kind"); kind {
		case "", "User", "Group": // the schema requires a kind
		case "ServiceAccount":
			if name := subject.text("name"); name != "" {
				errs = append(errs, invalid(path.Child("name"), name, validation.ValidateServiceAccountName(name, false))...)
			}
			if o.text("kind") == "ClusterRoleBinding" && subject.text("namespace") == "" {
				errs = append(errs, field.Required(path.Child("namespace"), ""))
			}
		default:
			errs = append(errs, field.NotSupported(path.Child("kind"), kind, []string{"ServiceAccount", "User", "Group"}))
		}
		return errs
	})
}
