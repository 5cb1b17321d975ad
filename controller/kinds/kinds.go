// Package kinds has the names of kinds: their API versions, plural names and scopes. [Kubernetes] returns those of Kubernetes
// itself, so no cluster is needed for them. Other tables are made of what discovery returns ([Discovered]) and of
// CustomResourceDefinitions ([Defined]). [Table.KindHint] and [Table.ResourceHint]
// say what was probably meant by a name that is not in a table.
//
// The schemas of the kinds are in package schemas.
package kinds

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Resource is a kind with the names that the API server has for it.
type Resource struct {
	APIVersion   string   `json:"apiVersion"`
	Kind         string   `json:"kind"`
	Plural       string   `json:"plural"` // the resource, as in childResources
	Singular     string   `json:"singular,omitempty"`
	ShortNames   []string `json:"shortNames,omitempty"`
	Categories   []string `json:"categories,omitempty"`
	Namespaced   bool     `json:"namespaced"`
	Subresources []string `json:"subresources,omitempty"` // such as status and scale, sorted
	Verbs        []string `json:"verbs,omitempty"`        // of the resource itself, sorted
}

// GVK returns the group, version and kind.
func (r Resource) GVK() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// GVR returns the group, version and plural name.
func (r Resource) GVR() schema.GroupVersionResource {
	return r.GVK().GroupVersion().WithResource(r.Plural)
}

// HasStatus reports whether the resource has the status subresource.
func (r Resource) HasStatus() bool { return slices.Contains(r.Subresources, "status") }

// Rule returns the resource as an item of childResources or resources, for messages: a line to paste.
func (r Resource) Rule() string {
	return fmt.Sprintf("- {apiVersion: %s, resource: %s}", r.APIVersion, r.Plural)
}

// A Table is a list of resources. If several have the same name, the last one has precedence.
type Table []Resource

// ByKind returns the resource of a kind.
func (t Table) ByKind(kind schema.GroupVersionKind) (Resource, bool) {
	return t.last(func(r Resource) bool { return r.Kind == kind.Kind && r.GVK() == kind })
}

// ByName returns the resource with a plural name.
func (t Table) ByName(apiVersion, plural string) (Resource, bool) {
	return t.last(func(r Resource) bool { return r.Plural == plural && r.APIVersion == apiVersion })
}

// last returns the last resource that matches.
func (t Table) last(match func(Resource) bool) (Resource, bool) {
	for _, r := range slices.Backward(t) {
		if match(r) {
			return r, true
		}
	}
	return Resource{}, false
}

// A Source says where the table of Kubernetes comes from.
type Source struct {
	Kubernetes string `json:"kubernetes"` // the version, such as v1.36.3
	Schemas    string `json:"schemas"`    // the SHA-256 of the uncompressed schemas in package schemas
}

// kubernetesText has the Source in the first line, and a Resource in each other line.
//
//go:embed kubernetes.jsonl
var kubernetesText []byte

// Kubernetes returns the resources of Kubernetes, with the default settings of its API server. They must not be changed.
func Kubernetes() Table {
	_, table := kubernetes()
	return table
}

// KubernetesSource returns where the table of [Kubernetes] comes from.
func KubernetesSource() Source {
	source, _ := kubernetes()
	return source
}

// kubernetes decodes kubernetesText once. The text is generated and tested, so an error is a defect of the program.
var kubernetes = sync.OnceValues(func() (Source, Table) {
	source, table, err := Decode(kubernetesText)
	if err != nil {
		panic(err)
	}
	return source, table
})

// Decode is the inverse of Encode.
func Decode(text []byte) (Source, Table, error) {
	var source Source
	var table Table
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&source); err != nil {
		return Source{}, nil, fmt.Errorf("decode the source of the kinds of Kubernetes: %w", err)
	}
	for {
		var r Resource
		err := decoder.Decode(&r)
		if errors.Is(err, io.EOF) {
			return source, table, nil
		}
		if err != nil {
			return Source{}, nil, fmt.Errorf("decode the kinds of Kubernetes: %w", err)
		}
		table = append(table, r)
	}
}

// Encode returns the text that is embedded in this package.
func Encode(source Source, table Table) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	if err := encoder.Encode(source); err != nil {
		return nil, err
	}
	for _, r := range table {
		if err := encoder.Encode(r); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// Discovered returns the resources of a group version, as discovery describes them, sorted by their plural names. Discovery has a
// separate item for each subresource.
func Discovered(apiVersion string, list *metav1.APIResourceList) Table {
	var table Table
	subresources := map[string][]string{}
	for _, item := range list.APIResources {
		if plural, sub, found := strings.Cut(item.Name, "/"); found {
			subresources[plural] = append(subresources[plural], sub)
			continue
		}
		table = append(table, Resource{
			APIVersion: apiVersion, Kind: item.Kind, Plural: item.Name, Singular: item.SingularName,
			ShortNames: item.ShortNames, Categories: item.Categories, Namespaced: item.Namespaced, Verbs: slices.Sorted(slices.Values(item.Verbs)),
		})
	}
	for i := range table {
		table[i].Subresources = slices.Sorted(slices.Values(subresources[table[i].Plural]))
	}
	slices.SortFunc(table, func(a, b Resource) int { return strings.Compare(a.Plural, b.Plural) })
	return table
}

// customVerbs are the verbs of each custom resource.
var customVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// Defined returns the resources of a definition, one for each version that is served.
func Defined(crd *apiextensionsv1.CustomResourceDefinition) Table {
	var table Table
	names := crd.Spec.Names
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		r := Resource{
			APIVersion: crd.Spec.Group + "/" + v.Name, Kind: names.Kind, Plural: names.Plural, Singular: names.Singular,
			ShortNames: names.ShortNames, Categories: names.Categories, Verbs: customVerbs,
			Namespaced: crd.Spec.Scope != apiextensionsv1.ClusterScoped,
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			r.Subresources = append(r.Subresources, "scale")
		}
		if v.Subresources != nil && v.Subresources.Status != nil {
			r.Subresources = append(r.Subresources, "status")
		}
		table = append(table, r)
	}
	return table
}
