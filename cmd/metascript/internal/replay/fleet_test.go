package replay

import (
	"testing"

	"metascript/cmd/metascript/internal/style"
)

// plain is the form of reports without colors.
var plain style.Styler

// fleet returns a folder with a controller, and steps that create parents and change them: four Sites, of which a and b have two Pods, c
// has three, and d has two and then four.
func fleet(t testing.TB) string {
	return folderOf(t, map[string]string{"controller.yaml": fleetController, "crd.yaml": fleetDefinition, "simulate.yaml": fleetSteps})
}

const fleetController = `apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: sites}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: sites}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}
  script:
    language: Starlark
    inline: |
      def sync(parent, children):
          image = "nginx:1"
          size = parent["spec"]["size"]
          pods = [{
              "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s-%d" % (parent["metadata"]["name"], i)},
              "spec": {"containers": [{"name": "web", "image": image}]},
          } for i in range(size)]
          return {"status": {"pods": len(pods), "running": len(children["Pod.v1"])}, "children": pods}
`

const fleetDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, listKind: SiteList, plural: sites, singular: site}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const fleetSteps = `steps:
- apply:
  - {apiVersion: example.com/v1, kind: Site, metadata: {name: a}, spec: {size: 2}}
  - {apiVersion: example.com/v1, kind: Site, metadata: {name: b}, spec: {size: 1}}
  - {apiVersion: example.com/v1, kind: Site, metadata: {name: c}, spec: {size: 3}}
  - {apiVersion: example.com/v1, kind: Site, metadata: {name: d}, spec: {size: 2}}
- patch: {object: Site d, merge: {spec: {size: 4}}}
`
