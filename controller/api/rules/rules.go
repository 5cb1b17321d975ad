// Package rules has rules for objects of Kubernetes' kinds that are in the code of the API server, and not in a schema: those that the
// objects of controllers break most often. [Validate] returns what is wrong with an object, with the paths and the words of the API
// server, and [Names] says which names the objects of a kind can have.
//
// The code of the API server is not used, since its module is a hundred times larger than this package.
package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Names returns the function that checks names of objects of a kind of Kubernetes. Of kinds that are rarely created by controllers it
// checks only what all kinds have in common.
func Names(kind schema.GroupKind) validation.ValidateNameFunc {
	switch kind.Group {
	case "rbac.authorization.k8s.io":
		return pathSegment
	case "", "apps", "batch", "networking.k8s.io", "policy", "autoscaling", "coordination.k8s.io", "storage.k8s.io", "scheduling.k8s.io":
	default:
		return pathSegment
	}
	switch kind.Kind {
	case "Namespace":
		return validation.ValidateNamespaceName
	case "Service":
		return validation.NameIsDNSLabel
	case "CronJob":
		return cronJobNames
	}
	return validation.NameIsDNSSubdomain
}

// maxCronJobName is the maximum length of the name of a CronJob, so that the names of its Jobs are short enough.
const maxCronJobName = 52

func cronJobNames(name string, prefix bool) []string {
	problems := validation.NameIsDNSSubdomain(name, prefix)
	if len(name) > maxCronJobName {
		problems = append(problems, "must be no more than 52 characters")
	}
	return problems
}

// pathSegment is what all names have in common.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// values are the fields of an object.
type values map[string]any

// below returns an object in v, or nil.
func (v values) below(name string) values {
	m, _ := v[name].(map[string]any)
	return m
}

// text returns a text in v, or "".
func (v values) text(name string) string {
	s, _ := v[name].(string)
	return s
}

// each calls f with the objects in a list, and joins the results.
func (v values) each(path *field.Path, name string, f func(path *field.Path, item values) field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	list, _ := v[name].([]any)
	for i, item := range list {
		if m, ok := item.(map[string]any); ok {
			errs = append(errs, f(path.Child(name).Index(i), m)...)
		}
	}
	return errs
}

// A rule returns what is wrong with an object. The path is that of its spec.
type rule func(path *field.Path, o, spec values) field.ErrorList

// byKind are the rules of the kinds.
var byKind = map[string]rule{
	"v1 Pod":                   func(path *field.Path, _, spec values) field.ErrorList { return podSpec(path, spec) },
	"v1 Service":               service,
	"v1 ConfigMap":             dataKeys,
	"v1 Secret":                dataKeys,
	"v1 PersistentVolumeClaim": claim,
	"v1 ReplicationController": workload,
	"apps/v1 Deployment":       deployment,
	"apps/v1 ReplicaSet":       workload,
	"apps/v1 DaemonSet":        daemonSet,
	"apps/v1 StatefulSet":      workload,
	"batch/v1 Job": func(path *field.Path, o, spec values) field.ErrorList {
		return append(ownSelector(path, o, spec), job(path, spec)...)
	},
	"batch/v1 CronJob":                                cronJob,
	"policy/v1 PodDisruptionBudget":                   disruptionBudget,
	"autoscaling/v1 HorizontalPodAutoscaler":          autoscaler,
	"autoscaling/v2 HorizontalPodAutoscaler":          autoscaler,
	"networking.k8s.io/v1 Ingress":                    ingress,
	"rbac.authorization.k8s.io/v1 RoleBinding":        roleBinding,
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": roleBinding,
}

// Validate returns what is wrong with an object of one of Kubernetes' kinds. It does not check what a schema says, such as the types
// of fields: a field of another type is as good as a missing one. If a part of an object is missing, it can be that only an error that it is
// required is returned.
func Validate(o map[string]any) field.ErrorList {
	check, ok := byKind[values(o).text("apiVersion")+" "+values(o).text("kind")]
	if !ok {
		return nil
	}
	return check(field.NewPath("spec"), o, values(o).below("spec"))
}

// workload is the rule of kinds with a template of Pods that always run.
func workload(path *field.Path, o, spec values) field.ErrorList {
	errs := notNegative(path, spec, "replicas")
	template := path.Child("template")
	if o.text("kind") != "ReplicationController" {
		errs = append(errs, selector(path, o, spec)...)
	}
	errs = append(errs, podTemplate(template, spec.below("template"))...)
	if policy := spec.below("template").below("spec").text("restartPolicy"); policy != "" && policy != "Always" {
		errs = append(errs, field.NotSupported(template.Child("spec", "restartPolicy"), policy, []string{"Always"}))
	}
	return errs
}

// selector is the rule that the selector of a workload is valid, and matches the labels of its Pods.
func selector(path *field.Path, o, spec values) field.ErrorList {
	var of *metav1.LabelSelector // nil matches nothing; the schema requires one
	var errs field.ErrorList
	if content := spec.below("selector"); content != nil {
		of = &metav1.LabelSelector{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, of); err != nil {
			return nil // the schema says why
		}
		errs = metav1validation.ValidateLabelSelector(of, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))
		if len(of.MatchLabels)+len(of.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(path.Child("selector"), of, "empty selector is invalid for "+strings.ToLower(o.text("kind"))))
		}
	}
	have := textsOf(spec.below("template").below("metadata").below("labels"))
	parsed, err := metav1.LabelSelectorAsSelector(of)
	if err != nil || parsed.Matches(labels.Set(have)) {
		return errs
	}
	return append(errs, field.Invalid(path.Child("template", "metadata", "labels"), have, "`selector` does not match template `labels`"))
}

// jobLabel is the label of the Pods of a Job by which the Job selects them.
const jobLabel = "batch.kubernetes.io/controller-uid"

// ownSelector is the rule that a Job has a selector of its own only if it says so. The API server adds its label to the selector.
func ownSelector(path *field.Path, o, spec values) field.ErrorList {
	selector := runtime.DeepCopyJSON(spec.below("selector"))
	own, _ := selector["matchLabels"].(map[string]any)
	if selector == nil || spec["manualSelector"] == true || own[jobLabel] != nil || own["controller-uid"] != nil {
		return nil
	}
	if uid := o.below("metadata").text("uid"); uid != "" && own != nil {
		own[jobLabel] = uid
	}
	return field.ErrorList{field.Invalid(path.Child("selector"), selector, "`selector` not auto-generated")}
}

// job is the rule of Jobs, and of the template of a CronJob.
func job(path *field.Path, spec values) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"} {
		errs = append(errs, notNegative(path, spec, name)...)
	}
	if spec["template"] == nil {
		return errs
	}
	errs = append(errs, podTemplate(path.Child("template"), spec.below("template"))...)
	switch policy := spec.below("template").below("spec").text("restartPolicy"); policy {
	case "OnFailure", "Never":
	default:
		errs = append(errs, field.Required(path.Child("template", "spec", "restartPolicy"), `valid values: "OnFailure", "Never"`))
	}
	return errs
}

func cronJob(path *field.Path, _, spec values) field.ErrorList {
	template := spec.below("jobTemplate").below("spec")
	errs := job(path.Child("jobTemplate", "spec"), template)
	if selector := template.below("selector"); selector != nil {
		errs = append(errs, field.Invalid(path.Child("jobTemplate", "spec", "selector"), selector, "`selector` will be auto-generated"))
	}
	if template["manualSelector"] == true {
		errs = append(errs, field.NotSupported(path.Child("jobTemplate", "spec", "manualSelector"), true, []string{"nil", "false"}))
	}
	if schedule := spec.text("schedule"); schedule != "" {
		if err := checkSchedule(schedule); err != nil {
			errs = append(errs, field.Invalid(path.Child("schedule"), schedule, err.Error()))
		}
	}
	for _, name := range []string{"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"} {
		errs = append(errs, notNegative(path, spec, name)...)
	}
	return errs
}

// dataKeys is the rule for the keys of ConfigMaps and Secrets.
func dataKeys(_ *field.Path, o, _ values) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"data", "binaryData", "stringData"} {
		for key := range o.below(name) {
			for _, problem := range utilvalidation.IsConfigMapKey(key) {
				at := field.NewPath(name)
				if name == "stringData" {
					at = field.NewPath("data") // to which the API server moves them
				}
				errs = append(errs, field.Invalid(at.Key(key), key, problem))
			}
		}
	}
	return errs
}

func claim(path *field.Path, _, spec values) field.ErrorList {
	if modes, _ := spec["accessModes"].([]any); len(modes) == 0 {
		return field.ErrorList{field.Required(path.Child("accessModes"), "at least 1 access mode is required")}
	}
	return nil
}

// notNegative returns an error if a number is negative.
func notNegative(path *field.Path, in values, name string) field.ErrorList {
	if n, ok := in[name].(int64); ok && n < 0 {
		return field.ErrorList{field.Invalid(path.Child(name), n, validation.IsNegativeErrorMsg)}
	}
	return nil
}

// textsOf returns the texts in an object.
func textsOf(in values) map[string]string {
	if in == nil {
		return nil
	}
	all := map[string]string{}
	for name := range in {
		all[name] = in.text(name)
	}
	return all
}

// invalid returns an error for each problem of a value.
func invalid(path *field.Path, value any, problems []string) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range problems {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}
