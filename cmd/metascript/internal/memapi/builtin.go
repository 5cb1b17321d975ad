package memapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"metascript/controller/api/rules"
	"metascript/controller/api/validation"
	"metascript/controller/kinds"
	"metascript/controller/object"
	"metascript/controller/schemas"
)

var (
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crdResource       = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
)

// goTypes has the Go types of the kinds of Kubernetes.
var goTypes = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		panic(err)
	}
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// builtinKinds returns the kinds of Kubernetes.
func builtinKinds() []*kind {
	var found []*kind
	for _, r := range kinds.Kubernetes() {
		gvk := r.GVK()
		of, known := goTypes.AllKnownTypes()[gvk]
		if !known || !isObject(of) {
			continue
		}
		types := builtinTypes
		if !scheme.Scheme.Recognizes(gvk) {
			types = managedfields.NewDeducedTypeConverter
		}
		k := newKind(r)
		k.generations, k.unconditional, k.types, k.strategy = slices.Contains(withGeneration, gvk.Kind), true, types, typed{of, gvk}
		found = append(found, k)
	}
	return found
}

// Stored returns an object as the API server stores it, if its kind is one of Kubernetes that has a Go type. It returns nil for other
// kinds, and for an object that the API server does not accept.
func Stored(o *object.Object) *object.Object {
	kind := o.GroupVersionKind()
	of, known := goTypes.AllKnownTypes()[kind]
	if !known || !isObject(of) {
		return nil
	}
	stored := object.Copy(o)
	if _, err := (typed{of, kind}).normalize(stored); err != nil {
		return nil
	}
	return stored
}

// isObject reports whether a type is that of an object with metadata, not of a list or of options.
func isObject(t reflect.Type) bool {
	f, has := t.FieldByName("ObjectMeta")
	return has && f.Type == reflect.TypeFor[metav1.ObjectMeta]()
}

// withGeneration are the kinds of Kubernetes whose objects have a generation.
var withGeneration = []string{
	"Pod", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Ingress", "NetworkPolicy",
	"PodDisruptionBudget", "CustomResourceDefinition", "PriorityClass", "FlowSchema", "PriorityLevelConfiguration",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"EndpointSlice", "IngressClass",
}

// builtinTypes converts objects of Kubernetes' kinds for server-side apply. It is made when it is first used, since that takes long.
var builtinTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(goTypes) })

// typed are the rules of a kind that has a Go type.
type typed struct {
	of   reflect.Type
	kind schema.GroupVersionKind
}

// normalize implements strategy.
func (t typed) normalize(o *object.Object) ([]string, error) {
	text, err := json.Marshal(o.Map())
	if err != nil {
		return nil, err
	}
	into := reflect.New(t.of).Interface()
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", t.kind.Kind, t.kind.Version, t.kind.Kind, err)
	}
	var unknown []string
	for _, one := range strict {
		unknown = append(unknown, strings.TrimSuffix(strings.TrimPrefix(one.Error(), `unknown field "`), `"`))
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		return nil, err
	}
	metadata := o.Map()["metadata"]
	content["metadata"] = metadata
	*o = *object.New(content)
	o.SetGroupVersionKind(t.kind)
	setDefaults(o)
	return unknown, nil
}

// validate implements strategy. Of the schema it checks which fields are required; the types were checked before.
func (t typed) validate(o, before *object.Object, errs field.ErrorList) field.ErrorList {
	if t.kind == crdKind {
		return definitionErrors(o)
	}
	errs = append(errs, rules.Validate(o.Map())...)
	if before != nil {
		return append(errs, rules.ValidateUpdate(o.Map(), before.Map())...)
	}
	if k, err := schemas.Kubernetes().Kind(t.kind); err == nil {
		for _, err := range fromSchema(schemas.OfNew(k.Validate(withoutEmpty(o.Map()).(map[string]any)))) {
			if !slices.ContainsFunc(errs, func(other *field.Error) bool { return other.Field == err.Field }) {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// definitionErrors returns what is wrong with a CustomResourceDefinition.
func definitionErrors(o *object.Object) field.ErrorList {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Map(), crd); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), "", err.Error())}
	}
	return validation.Definition(crd)
}

// withoutEmpty returns a copy of a value without empty texts: what is required must not be empty.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, v := range value {
			if v != "" {
				m[key] = withoutEmpty(v)
			}
		}
		return m
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			list[i] = withoutEmpty(v)
		}
		return list
	}
	return value
}

// fromSchema returns problems as the API server reports them.
func fromSchema(problems []schemas.Problem) field.ErrorList {
	var errs field.ErrorList
	for _, p := range problems {
		if p.Cause == schemas.Missing {
			errs = append(errs, field.Required(field.NewPath(p.Path), ""))
		}
	}
	return errs
}

// otherKind implements strategy.
func (typed) otherKind(k *kind, o *object.Object) error {
	if !goTypes.Recognizes(o.GroupVersionKind()) {
		return nil
	}
	version, kind := o.GroupVersionKind().Version, o.GetKind()
	group := k.gvk().Group
	if group == "" {
		group = "core"
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: converting (%s.%s) to (%s.%s): unknown conversion",
		kind, version, k.Kind, version, kind, group, k.Kind))
}

// zeroStatus returns the status of a new object, which has the fields that its type always writes, such as numbers of replicas.
func (t typed) zeroStatus() any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(reflect.New(t.of).Interface())
	if err != nil || content["status"] == nil {
		return map[string]any{}
	}
	return content["status"]
}

// zero returns an empty value of the type.
func (t typed) zero() any { return reflect.New(t.of).Elem().Interface() }
