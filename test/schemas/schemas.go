// Package schemas reads the kinds of Kubernetes and their schemas from an API server, in the form in which the packages
// controller/kinds and controller/schemas embed them. The result depends only on the version of the API server.
package schemas

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kinds"
	"metascript/controller/schemas"
)

// A Snapshot is what is embedded.
type Snapshot struct {
	Kinds       []byte // controller/kinds/kubernetes.jsonl
	Definitions []byte // controller/schemas/kubernetes.gz, uncompressed
}

// Read reads the kinds and schemas of an API server, without those of custom resources.
func Read(ctx context.Context, config *rest.Config) (*Snapshot, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 100, 100
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	all, wanted := definitions{}, []string{}
	var table kinds.Table
	for _, list := range lists {
		if !ofKubernetes(list.GroupVersion) {
			continue
		}
		found, err := read(ctx, client, list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("schemas of %s: %w", list.GroupVersion, err)
		}
		maps.Copy(all, found)
		table = append(table, kinds.Discovered(list.GroupVersion, list)...)
		wanted = append(wanted, found.of(list)...)
	}
	text, err := all.encode(wanted)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	encoded, err := kinds.Encode(kinds.Source{Kubernetes: version.GitVersion, Schemas: hex.EncodeToString(sum[:])}, table)
	return &Snapshot{Kinds: encoded, Definitions: text}, err
}

// ofKubernetes reports whether an API version is of Kubernetes itself.
func ofKubernetes(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group != v1alpha1.Group && (!strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"))
}

// Compress compresses Definitions.
func (s *Snapshot) Compress() ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(s.Definitions); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// definitions are schemas by name, as in an OpenAPI v3 document.
type definitions map[string]map[string]any

// read returns the definitions of a group version.
func read(ctx context.Context, client discovery.DiscoveryInterface, apiVersion string) (definitions, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	texts, err := schemas.Published(ctx, client.RESTClient(), gv)
	if err != nil {
		return nil, err
	}
	found := definitions{}
	for name, text := range texts {
		var definition map[string]any
		if err := json.Unmarshal(text, &definition); err != nil {
			return nil, err
		}
		found[name] = definition
	}
	return found, nil
}

// of returns the names of the definitions of the kinds in a list, including those of subresources, such as Scale.
func (d definitions) of(list *metav1.APIResourceList) []string {
	own, _ := schema.ParseGroupVersion(list.GroupVersion)
	served := map[schema.GroupVersionKind]bool{}
	for _, item := range list.APIResources {
		kind := own.WithKind(item.Kind)
		if item.Version != "" {
			kind.Group, kind.Version = item.Group, item.Version
		}
		served[kind] = true
	}
	var names []string
	for name, definition := range d {
		of, _ := definition["x-kubernetes-group-version-kind"].([]any)
		for _, item := range of {
			kind := item.(map[string]any)
			group, _ := kind["group"].(string)
			if served[schema.GroupVersionKind{Group: group, Version: kind["version"].(string), Kind: kind["kind"].(string)}] {
				names = append(names, name)
			}
		}
	}
	return names
}

// encode returns the named definitions and all that they refer to: a line for each, with its name, a space, and its schema. The
// lines are sorted by name.
func (d definitions) encode(wanted []string) ([]byte, error) {
	used := map[string]bool{}
	for len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if used[name] {
			continue
		}
		used[name] = true
		definition, found := d[name]
		if !found {
			return nil, fmt.Errorf("there is no definition %s", name)
		}
		wanted = append(wanted, reduce(definition)...)
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(used)) {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(d[name]); err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s %s", name, line.Bytes())
	}
	return text.Bytes(), nil
}

// reduce removes from a schema, and from those in it, the defaults that are only the zero values of Go types: the API server does
// not set them, and a required field that has one is required nevertheless. It returns the names of the definitions that the schema
// refers to.
func reduce(s map[string]any) []string {
	switch value := s["default"].(type) {
	case map[string]any:
		if len(value) == 0 {
			delete(s, "default")
		}
	case string, float64, bool:
		if value == "" || value == 0.0 || value == false {
			delete(s, "default")
		}
	}
	var refs []string
	if ref, ok := s["$ref"].(string); ok {
		refs = append(refs, strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if of, ok := s[key].(map[string]any); ok {
			refs = append(refs, reduce(of)...)
		}
	}
	all, _ := s["allOf"].([]any)
	for _, of := range all {
		refs = append(refs, reduce(of.(map[string]any))...)
	}
	properties, _ := s["properties"].(map[string]any)
	for _, of := range properties {
		refs = append(refs, reduce(of.(map[string]any))...)
	}
	return refs
}
