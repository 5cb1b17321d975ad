package kube

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object/objecttest"
)

func TestExceedsQuota(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{apierrors.NewForbidden(pods, "p", errors.New("exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3")), true},
		{apierrors.NewForbidden(pods, "p", errors.New("denied by a policy")), false},
		{apierrors.NewBadRequest("exceeded quota"), false},
	} {
		if got := exceedsQuota(c.err); got != c.want {
			t.Errorf("%v: got %t, want %t", c.err, got, c.want)
		}
	}
}

func exceeded(text string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota: q, "+text))
}

// A new object has room if what the existing one uses is enough.
func TestRoomInQuota(t *testing.T) {
	pod := func(spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + spec + "}"
	}
	cpu := func(amount string) string {
		return "{resources: {requests: {cpu: " + amount + "}, limits: {cpu: " + amount + "}}}"
	}
	claim := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {resources: {requests: {storage: 1Gi}}}}"
	silver := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {storageClassName: silver, resources: {requests: {storage: 1Gi}}}}"
	gold := strings.ReplaceAll(silver, "silver", "gold")
	service := func(kind string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: p}, spec: {type: " + kind + "}}"
	}
	for _, c := range []struct{ existing, created, text string }{
		{silver, gold, "requested: gold.storageclass.storage.k8s.io/requests.storage=1Gi, used: gold.storageclass.storage.k8s.io/requests.storage=9Gi, limited: gold.storageclass.storage.k8s.io/requests.storage=9Gi"},
		{silver, gold, "requested: gold.storageclass.storage.k8s.io/persistentvolumeclaims=1, used: gold.storageclass.storage.k8s.io/persistentvolumeclaims=1, limited: gold.storageclass.storage.k8s.io/persistentvolumeclaims=1"},
		{service("ClusterIP"), service("LoadBalancer"), "requested: services.loadbalancers=1, used: services.loadbalancers=1, limited: services.loadbalancers=1"},
		{pod("{containers: [{}]}"), pod("{containers: [" + cpu("1") + "]}"), "requested: pods=1, used: pods=1, limited: pods=1"},
		{pod("{}"), pod("{activeDeadlineSeconds: 1}"), "requested: pods=1, used: pods=1, limited: pods=1"},
		{pod("{}"), pod("{priorityClassName: high}"), "requested: pods=1, used: pods=1, limited: pods=1"},
	} {
		if fits, _ := fitsInPlace(exceeded(c.text), objecttest.ParseObject(t, c.created), objecttest.ParseObject(t, c.existing)); fits {
			t.Errorf("%s in place of %s, %s: room", c.created, c.existing, c.text)
		}
	}
	for _, c := range []struct {
		existing, text string
		want           bool
	}{
		{gold, "requested: gold.storageclass.storage.k8s.io/requests.storage=1Gi, used: gold.storageclass.storage.k8s.io/requests.storage=9Gi, limited: gold.storageclass.storage.k8s.io/requests.storage=9Gi", true},
		{service("LoadBalancer"), "requested: services.loadbalancers=1, used: services.loadbalancers=1, limited: services.loadbalancers=1", true},
		{pod("{}"), "requested: pods=1, used: pods=1, limited: pods=1", true},
		{pod("{}"), "requested: pods=1, used: pods=1, limited: pods=0", false},
		{pod("{}"), "requested: count/pods=1, used: count/pods=3, limited: count/pods=3", true},
		{pod("{containers: [" + cpu("1") + "]}"), "requested: requests.cpu=2, used: requests.cpu=2, limited: requests.cpu=3", true},
		{pod("{containers: [" + cpu("1") + "]}"), "requested: requests.cpu=2, used: requests.cpu=2500m, limited: requests.cpu=3", false},
		{pod("{containers: [" + cpu("1") + "]}"), "requested: limits.cpu=2, used: limits.cpu=2, limited: limits.cpu=3", true},
		{pod("{containers: [" + cpu("1") + "]}"), "requested: cpu=2, used: cpu=2, limited: cpu=3", true},
		{pod("{containers: [" + cpu("1") + ", " + cpu("500m") + "]}"), "requested: pods=1,requests.cpu=2, used: pods=1,requests.cpu=2, limited: pods=1,requests.cpu=2500m", true},
		{pod("{initContainers: [" + cpu("2") + "], containers: [" + cpu("1") + "]}"), "requested: requests.cpu=3, used: requests.cpu=2, limited: requests.cpu=3", true},
		{pod("{initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, " + cpu("1") + "], containers: [" + cpu("500m") + "]}"), "requested: requests.cpu=3, used: requests.cpu=2, limited: requests.cpu=3", true},
		{pod("{resources: {requests: {cpu: 3}}, containers: [" + cpu("1") + "]}"), "requested: requests.cpu=4, used: requests.cpu=3, limited: requests.cpu=4", true},
		{pod("{containers: [{}]}"), "requested: requests.cpu=2, used: requests.cpu=2, limited: requests.cpu=3", false},
		{claim, "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi", true},
		{claim, "requested: requests.storage=2Gi, used: requests.storage=3Gi, limited: requests.storage=3Gi", false},
		{claim, "requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1", true},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: p}}", "requested: configmaps=1, used: configmaps=7, limited: configmaps=7", true},
		{pod("{}"), "in other words", false},
	} {
		if got, _ := fitsInPlace(exceeded(c.text), objecttest.ParseObject(t, c.existing), objecttest.ParseObject(t, c.existing)); got != c.want {
			t.Errorf("%s, %s: room %t", c.existing, c.text, got)
		}
	}
	for requests, want := range map[string]bool{"500m": false, "1": false, "1500m": true} {
		err := exceeded("requested: pods=1,requests.cpu=" + requests + ", used: pods=3,requests.cpu=3, limited: pods=3,requests.cpu=4")
		existing, created := pod("{containers: ["+cpu("1")+"]}"), pod("{containers: ["+cpu(requests)+"]}")
		if fits, grows := fitsInPlace(err, objecttest.ParseObject(t, created), objecttest.ParseObject(t, existing)); !fits || grows != want {
			t.Errorf("cpu %s in place of 1: fits %t, grows %t, want %t", requests, fits, grows, want)
		}
	}
	if fits, _ := fitsInPlace(exceeded("requested: pods=1, used: pods=0, limited: pods=1"), objecttest.ConfigMap("p", nil), nil); fits {
		t.Error("it takes the place of no object")
	}
}
