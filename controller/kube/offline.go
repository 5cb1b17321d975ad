package kube

import (
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"metascript/controller/object"
)

// An Offline is a Finder without an API server. It knows the resources of Kubernetes itself, those of Definitions, and, by
// guessing their plural names, those of the kinds in Seen.
type Offline struct {
	Definitions []*apiextensionsv1.CustomResourceDefinition
	Seen        []object.Kind                               // kinds of objects that exist; their plural names are guessed
	Known       map[schema.GroupVersionResource]object.Kind // kinds whose plural names are known
}

// clusterScoped are the cluster-scoped resources of Kubernetes.
var clusterScoped = []string{
	"namespaces", "nodes", "persistentvolumes", "componentstatuses", "clusterroles", "clusterrolebindings",
	"storageclasses", "csidrivers", "csinodes", "volumeattachments", "volumeattributesclasses", "ingressclasses",
	"runtimeclasses", "priorityclasses", "certificatesigningrequests", "clustertrustbundles", "flowschemas", "prioritylevelconfigurations", "ipaddresses", "servicecidrs",
	"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies",
	"validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
	"deviceclasses", "devicetaintrules", "resourceslices", "resourcepoolstatusrequests", "storageversions", "storageversionmigrations",
}

// withoutType are the resources of Kubernetes whose types are not in client-go.
var withoutType = []Resource{
	{apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), "CustomResourceDefinition", false, true},
	{schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}, "APIService", false, true},
}

// ByName implements Finder.
func (f *Offline) ByName(apiVersion, plural string) (Resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Resource{}, err
	}
	if found, ok := f.defined(gv, plural); ok {
		return found, nil
	}
	if i := slices.IndexFunc(withoutType, func(r Resource) bool { return r.GroupVersionResource == gv.WithResource(plural) }); i >= 0 {
		return withoutType[i], nil
	}
	for kind, of := range scheme.Scheme.KnownTypes(gv) {
		if guess, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind)); guess.Resource == plural {
			return Resource{guess, kind, !slices.Contains(clusterScoped, plural), builtinHasStatus(plural, of)}, nil
		}
	}
	if kind, known := f.Known[gv.WithResource(plural)]; known {
		return Resource{gv.WithResource(plural), kind.Kind, true, true}, nil
	}
	for _, kind := range f.Seen {
		if guess, _ := meta.UnsafeGuessKindToResource(kind); guess == gv.WithResource(plural) {
			return Resource{guess, kind.Kind, true, true}, nil
		}
	}
	return Resource{}, fmt.Errorf("what kind is resource %q in %s? give its CustomResourceDefinition, or an object of it", plural, apiVersion)
}

// builtinHasStatus reports whether a resource of Kubernetes has the status subresource: it has if its type has the field Status, except
// csinodes.
func builtinHasStatus(plural string, of reflect.Type) bool {
	_, found := of.FieldByName("Status")
	return found && plural != "csinodes"
}

func (f *Offline) defined(gv schema.GroupVersion, plural string) (Resource, bool) {
	for _, crd := range f.Definitions {
		if crd.Spec.Group != gv.Group || crd.Spec.Names.Plural != plural {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Name == gv.Version {
				status := v.Subresources != nil && v.Subresources.Status != nil
				return Resource{gv.WithResource(plural), crd.Spec.Names.Kind, crd.Spec.Scope == apiextensionsv1.NamespaceScoped, status}, true
			}
		}
	}
	return Resource{}, false
}
