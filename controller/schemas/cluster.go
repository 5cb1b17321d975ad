package schemas

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"metascript/controller/kinds"
)

// Cluster returns the kinds of a cluster. It discovers them and lists the CustomResourceDefinitions; the schemas of other kinds are
// read when they are first used. Without the permission to list CustomResourceDefinitions, the schemas that the API server publishes
// are used for custom resources too; they have no rules in CEL. A version of the API that cannot be discovered, because the server of
// an APIService does not answer, is left out.
func Cluster(ctx context.Context, config *rest.Config) (*Set, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discover the kinds of the cluster: %w", err)
	}
	partial := err != nil
	var table kinds.Table
	for _, list := range lists {
		table = append(table, kinds.Discovered(list.GroupVersion, list)...)
	}
	crds, err := listDefinitions(ctx, client.RESTClient())
	if err != nil {
		return nil, fmt.Errorf("list the CustomResourceDefinitions of the cluster: %w", err)
	}
	s := newSet(table, partial, published(ctx, client.RESTClient()))
	for _, crd := range crds {
		if all, err := s.With(&crd); err == nil {
			s = all
		} // else the API server accepted it before schemas were required
	}
	return s, nil
}

// listDefinitions returns the CustomResourceDefinitions, or none if it is not permitted to list them.
func listDefinitions(ctx context.Context, client rest.Interface) ([]apiextensionsv1.CustomResourceDefinition, error) {
	text, err := client.Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Do(ctx).Raw()
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	err = json.Unmarshal(text, &list)
	return list.Items, err
}

// published returns a function that reads the definitions of a group version once.
func published(ctx context.Context, client rest.Interface) func(schema.GroupVersion) (*definitions, error) {
	var mu sync.Mutex
	read := map[schema.GroupVersion]*definitions{}
	return func(gv schema.GroupVersion) (*definitions, error) {
		mu.Lock()
		defer mu.Unlock()
		if all, ok := read[gv]; ok {
			return all, nil
		}
		texts, err := Published(ctx, client, gv)
		if err != nil {
			return nil, err
		}
		all := newDefinitions()
		for name, text := range texts {
			all.text[name] = text
		}
		read[gv] = all
		return all, nil
	}
}

// Published returns the OpenAPI v3 definitions of a group version that an API server publishes, by name.
func Published(ctx context.Context, client rest.Interface, gv schema.GroupVersion) (map[string]json.RawMessage, error) {
	path := "/openapi/v3/apis/" + gv.String()
	if gv.Group == "" {
		path = "/openapi/v3/api/" + gv.Version
	}
	text, err := client.Get().AbsPath(path).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var document struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	err = json.Unmarshal(text, &document)
	return document.Components.Schemas, err
}
