package plan

import (
	"slices"
	"testing"

	"metascript/controller/object"
)

// An answer has three objects in the wrong order: each container is after what is in it.
func contained(t testing.TB, data string) []*object.Object {
	t.Helper()
	return []*object.Object{
		parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}, data: {k: `+data+`}}`),
		parseObject(t, `{apiVersion: example.com/v1, kind: Gadget, metadata: {name: g}, spec: {k: `+data+`}}`),
		parseObject(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.com}, spec: {k: `+data+`}}`),
		parseObject(t, `{apiVersion: v1, kind: Namespace, metadata: {name: team}, spec: {k: `+data+`}}`),
	}
}

func storedContained(t testing.TB) *object.Set {
	t.Helper()
	set := &object.Set{}
	for _, o := range contained(t, "old") {
		set.Put(stored(t, o))
	}
	return set
}

func TestContainersAreWrittenBeforeWhatIsInThem(t *testing.T) {
	want := []string{
		"create CustomResourceDefinition gadgets.example.com: desired and missing",
		"create Namespace team: desired and missing",
		"create ConfigMap team/a: desired and missing",
		"create Gadget g: desired and missing",
	}
	checkOps(t, plan(t, setOf(), setOf(contained(t, "new")...), nil), want...)
}

func TestContainersAreDeletedAfterWhatIsInThem(t *testing.T) {
	observed := &object.Set{}
	for _, o := range slices.Backward(contained(t, "old")) {
		observed.Put(stored(t, o))
	}
	checkOps(t, plan(t, observed, setOf(), nil),
		"delete Gadget g: no longer desired",
		"delete ConfigMap team/a: no longer desired",
		"delete Namespace team: no longer desired",
		"delete CustomResourceDefinition gadgets.example.com: no longer desired")
}

// A new Namespace is not deleted after what is created in it, and what is not desired any more is deleted from an old one before it.
func TestReplacedContainersAreDeletedFirst(t *testing.T) {
	observed := storedContained(t)
	observed.Put(stored(t, parseObject(t, `{apiVersion: v1, kind: Namespace, metadata: {name: unwanted}}`)))
	rules := Rules{}
	for _, kind := range observed.Kinds() {
		rules[kind] = Recreate
	}
	checkOps(t, plan(t, observed, setOf(contained(t, "new")...), rules),
		"delete CustomResourceDefinition gadgets.example.com: to be recreated: spec.k differs",
		"delete Namespace team: to be recreated: spec.k differs",
		"delete ConfigMap team/a: to be recreated: data.k differs",
		"delete Gadget g: to be recreated: spec.k differs",
		"delete Namespace unwanted: no longer desired")
}

// A Namespace of another API group contains nothing.
func TestOnlyTheKindsOfKubernetesAreContainers(t *testing.T) {
	other := parseObject(t, `{apiVersion: example.com/v1, kind: Namespace, metadata: {name: other, namespace: default}}`)
	checkOps(t, plan(t, setOf(), setOf(pod(t, "a", "x"), other), nil),
		"create Pod default/a: desired and missing",
		"create Namespace default/other: desired and missing")
}
