// Package kubetest has a kube.Finder for tests.
package kubetest

import "metascript/controller/kube"

// Served are the resources that discovery knows.
type Served []kube.Resource

// ByName implements kube.Finder.
func (s Served) ByName(apiVersion, plural string) (kube.Resource, error) {
	for _, r := range s {
		if r.GroupVersion().String() == apiVersion && r.GroupVersionResource.Resource == plural {
			return r, nil
		}
	}
	return kube.Resource{}, &kube.NotServedError{APIVersion: apiVersion, Name: plural}
}
