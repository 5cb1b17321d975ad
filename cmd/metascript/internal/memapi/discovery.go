package memapi

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// discover answers a call that asks for the groups, versions and resources, or for the version of the server.
func (c *catalog) discover(of *call) (*http.Response, bool) {
	path := strings.Split(strings.Trim(of.request.URL.Path, "/"), "/")
	switch {
	case of.request.Method != http.MethodGet:
		return nil, false
	case len(path) == 1 && path[0] == "version":
		return success(of, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.0"}, nil), true
	case len(path) == 1 && path[0] == "api":
		return success(of, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, nil), true
	case len(path) == 1 && path[0] == "apis":
		return success(of, http.StatusOK, c.groups(), nil), true
	case len(path) == 2 && path[0] == "api":
		return c.resources(of, schema.GroupVersion{Version: path[1]}), true
	case len(path) == 3 && path[0] == "apis":
		return c.resources(of, schema.GroupVersion{Group: path[1], Version: path[2]}), true
	}
	return nil, false
}

// groups returns the groups with their versions.
func (c *catalog) groups() metav1.APIGroupList {
	found := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, k := range c.all() {
		if k.Group == "" {
			continue
		}
		if n := len(found.Groups); n == 0 || found.Groups[n-1].Name != k.Group {
			found.Groups = append(found.Groups, metav1.APIGroup{Name: k.Group})
		}
		group, v := &found.Groups[len(found.Groups)-1], metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
		if !slices.Contains(group.Versions, v) {
			group.Versions = append(group.Versions, v)
			group.PreferredVersion = v
		}
	}
	return found
}

// statusVerbs are the verbs of the subresource status.
var statusVerbs = metav1.Verbs{"get", "patch", "update"}

// resources answers with the resources of a group version.
func (c *catalog) resources(of *call, gv schema.GroupVersion) *http.Response {
	found := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String()}
	for _, k := range c.all() {
		if k.GroupVersion() != gv {
			continue
		}
		name := k.GroupVersionResource.Resource
		found.APIResources = append(found.APIResources, metav1.APIResource{
			Name: name, SingularName: k.names.Singular, ShortNames: k.names.ShortNames, Categories: k.names.Categories, Namespaced: k.Namespaced, Kind: k.Kind, Verbs: k.names.Verbs,
		})
		if k.HasStatus {
			found.APIResources = append(found.APIResources, metav1.APIResource{Name: name + "/status", Namespaced: k.Namespaced, Kind: k.Kind, Verbs: statusVerbs})
		}
	}
	if len(found.APIResources) == 0 {
		return failure(of, errNoPage, nil)
	}
	return success(of, http.StatusOK, found, nil)
}
