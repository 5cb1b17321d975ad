package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/object/objecttest"
)

func TestWebhookWithoutDryRun(t *testing.T) {
	if !lacksDryRun(apierrors.NewBadRequest(`admission webhook "w" does not support dry run`)) {
		t.Error("it is not recognized")
	}
	if lacksDryRun(apierrors.NewBadRequest("the body is not valid")) {
		t.Error("another error is taken for it")
	}
}

func TestServiceIsTriedWithoutWhatExistingOneHolds(t *testing.T) {
	existing := objecttest.ParseObject(t, `
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], healthCheckNodePort: 30003, ports: [{port: 1, nodePort: 30001}, {port: 2, nodePort: 30002}]}`)
	for name, c := range map[string]struct{ spec, want string }{
		"the same":    {"{clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], healthCheckNodePort: 30003, ports: [{port: 2, nodePort: 30001}]}", "{ports: [{port: 2}]}"},
		"other":       {"{clusterIP: 10.0.0.8, ports: [{port: 1, nodePort: 30009}]}", "{clusterIP: 10.0.0.8, ports: [{port: 1, nodePort: 30009}]}"},
		"no address":  {"{clusterIP: None, ports: [{port: 1}]}", "{clusterIP: None, ports: [{port: 1}]}"},
		"nothing set": {"{}", "{}"},
	} {
		of := func(spec string) map[string]any {
			return objecttest.ParseObject(t, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: "+spec+"}").Map()
		}
		service := objecttest.ParseObject(t, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: "+c.spec+"}")
		if diff := cmp.Diff(of(c.want), withoutHeld(service, existing).Map()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(of(c.spec), service.Map()); diff != "" {
			t.Errorf("%s: the Service was changed (-want +got):\n%s", name, diff)
		}
	}
	pod := objecttest.ParseObject(t, "{apiVersion: v1, kind: Pod, metadata: {name: s}, spec: {clusterIP: 10.0.0.7}}")
	if withoutHeld(pod, existing) != pod {
		t.Error("an object of another kind is changed")
	}
}
