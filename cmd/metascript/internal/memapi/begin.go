package memapi

import (
	"crypto/sha256"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/api/rules"
	"metascript/controller/object"
)

var (
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	crdKind       = schema.GroupVersionKind{Group: crdResource.Group, Version: crdResource.Version, Kind: "CustomResourceDefinition"}
)

// names count how often a name was given: a UID for it, or a suffix to it.
type names map[string]int

// uid returns the UID of a new object. It depends only on the kind and the name, and on how many objects had that name before.
func (n names) uid(k *kind, o *object.Object) types.UID {
	name := k.GroupResource().String() + " " + object.KeyOf(o).String()
	n[name]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, n[name]))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// suffix returns the end of a name that is generated from a prefix.
func (n names) suffix(prefix string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	n["prefix "+prefix]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", prefix, n["prefix "+prefix]))
	text := make([]byte, 5)
	for i := range text {
		text[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(text)
}

// validNames returns the function that checks names of objects of a kind.
func validNames(k *kind) validation.ValidateNameFunc {
	if _, builtin := k.strategy.(typed); builtin {
		return rules.Names(k.gvk().GroupKind())
	}
	return validation.NameIsDNSSubdomain
}

// phases are the status.phase of new objects.
var phases = map[string]string{"Namespace": "Active", "Pod": "Pending", "PersistentVolumeClaim": "Pending", "PersistentVolume": "Pending"}

// begin sets the fields of a new object of Kubernetes' kinds that the API server computes.
func (k *kind) begin(o *object.Object) {
	of, builtin := k.strategy.(typed)
	if !builtin {
		return
	}
	if k.HasStatus {
		o.Map()["status"] = of.zeroStatus()
	}
	if phase := phases[k.Kind]; phase != "" && k.Group == "" {
		_ = unstructured.SetNestedField(o.Map(), phase, "status", "phase")
	}
	if k.Kind == "Service" && k.Group == "" {
		assignIP(o)
	}
	if k.gvk() == namespaceKind {
		_ = unstructured.SetNestedField(o.Map(), o.GetName(), "metadata", "labels", "kubernetes.io/metadata.name")
		_ = unstructured.SetNestedStringSlice(o.Map(), []string{"kubernetes"}, "spec", "finalizers")
	}
}

// assignIP sets the IP address of a Service, which follows from its UID.
func assignIP(service *object.Object) {
	spec, _ := service.Map()["spec"].(map[string]any)
	if spec == nil || spec["type"] == "ExternalName" {
		return
	}
	if ip, _ := spec["clusterIP"].(string); ip == "" {
		sum := sha256.Sum256([]byte(service.GetUID()))
		spec["clusterIP"] = fmt.Sprintf("10.96.%d.%d", sum[0], sum[1])
	}
	spec["clusterIPs"] = []any{spec["clusterIP"]}
}

// define serves the kinds of a CustomResourceDefinition that was created or changed, and sets its status.
func (c *catalog) define(k *kind, before, o *object.Object, dryRun bool) error {
	if k.gvk() != crdKind {
		return nil
	}
	kinds, err := customKinds(o)
	if err != nil {
		return apierrors.NewInvalid(crdKind.GroupKind(), o.GetName(), field.ErrorList{field.Invalid(field.NewPath("spec", "validation", "openAPIV3Schema"), "", err.Error())})
	}
	if before != nil {
		if !dryRun {
			c.custom[o.GetName()] = kinds
		}
		return nil
	}
	names, _, _ := unstructured.NestedMap(o.Map(), "spec", "names")
	if names["singular"] == nil {
		names["singular"] = strings.ToLower(fmt.Sprint(names["kind"]))
	}
	if names["listKind"] == nil {
		names["listKind"] = fmt.Sprint(names["kind"], "List")
	}
	at := o.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z")
	condition := func(name, reason, message string) map[string]any {
		return map[string]any{"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at}
	}
	o.Map()["spec"].(map[string]any)["names"] = names
	o.Map()["status"] = map[string]any{
		"acceptedNames": names, "storedVersions": []any{storageVersion(o)},
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
	}
	if !dryRun {
		c.custom[o.GetName()] = kinds
	}
	return nil
}

// storageVersion returns the version of a CustomResourceDefinition in which an API server stores objects.
func storageVersion(crd *object.Object) string {
	versions, _, _ := unstructured.NestedSlice(crd.Map(), "spec", "versions")
	for _, v := range versions {
		if m, _ := v.(map[string]any); m["storage"] == true {
			return fmt.Sprint(m["name"])
		}
	}
	return ""
}

// undefine deletes the objects of a CustomResourceDefinition that is deleted, and stops serving its kinds.
func (s *Server) undefine(k *kind, crd *object.Object) {
	if k.gvk() != crdKind {
		return
	}
	for _, of := range s.catalog.custom[crd.GetName()] {
		for _, o := range s.sorted(&request{kind: of}) {
			s.store(of, o, nil)
		}
	}
	delete(s.catalog.custom, crd.GetName())
}

// isReview reports whether objects of the kind are questions, which are answered and not stored.
func isReview(k *kind) bool { return k.Group == "authorization.k8s.io" }

// permitted returns the answer to a review: everything is permitted.
func permitted(review *object.Object) *object.Object {
	review.Map()["status"] = map[string]any{"allowed": true}
	return review
}

// joined joins warnings as the API server does.
func joined(warnings []string) string { return strings.Join(warnings, ", ") }
