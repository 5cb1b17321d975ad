package hook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

func TestChildMustBeObject(t *testing.T) {
	checkRefusals(t, newRequest(t), all, []refusal{
		{"text", `{children: [Pod]}`, `children[0]: it is a string, want an object`},
		{"a number", `{children: [1]}`, `children[0]: it is a number, want an object`},
		{"a boolean", `{children: [true]}`, `children[0]: it is a boolean, want an object`},
		{"a list", `{children: [[]]}`, `children[0]: it is a list, want an object`},
		{"behind a good one", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, x]}`, `children[1]: it is a string, want an object`},
	})
}

func TestChildNeedsAPIVersionKindAndName(t *testing.T) {
	const (
		version  = `want a string such as "v1"`
		kind     = `want a string such as "Pod"`
		name     = `a child needs a name, so that it is recognized again`
		metadata = `want an object with a name`
	)
	checkRefusals(t, newRequest(t), all, []refusal{
		{"nothing", `{children: [{}]}`, `children[0]: apiVersion is missing, ` + version},
		{"no apiVersion", `{children: [{kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): apiVersion is missing, ` + version},
		{"a null apiVersion", `{children: [{apiVersion: null, kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): apiVersion is missing, ` + version},
		{"an empty apiVersion", `{children: [{apiVersion: "", kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): apiVersion is empty, ` + version},
		{"a number as apiVersion", `{children: [{apiVersion: 1, kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): apiVersion is a number, ` + version},
		{"an apiVersion with too many parts", `{children: [{apiVersion: a/b/c, kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): apiVersion is "a/b/c", want one such as "v1" or "apps/v1"`},
		{"no kind", `{children: [{apiVersion: v1, metadata: {name: a}}]}`, `children[0] ("a"): kind is missing, ` + kind},
		{"an empty kind", `{children: [{apiVersion: v1, kind: "", metadata: {name: a}}]}`, `children[0] ("a"): kind is empty, ` + kind},
		{"a list as kind", `{children: [{apiVersion: v1, kind: [Pod], metadata: {name: a}}]}`, `children[0] ("a"): kind is a list, ` + kind},
		{"no metadata", `{children: [{apiVersion: v1, kind: Pod}]}`, `children[0] (Pod): metadata is missing, ` + metadata},
		{"null metadata", `{children: [{apiVersion: v1, kind: Pod, metadata: null}]}`, `children[0] (Pod): metadata is missing, ` + metadata},
		{"text as metadata", `{children: [{apiVersion: v1, kind: Pod, metadata: a}]}`, `children[0] (Pod): metadata is a string, ` + metadata},
		{"a list as metadata", `{children: [{apiVersion: v1, kind: Pod, metadata: [{name: a}]}]}`, `children[0] (Pod): metadata is a list, ` + metadata},
		{"no name", `{children: [{apiVersion: v1, kind: Pod, metadata: {}}]}`, `children[0] (Pod): metadata.name is missing: ` + name},
		{"a null name", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: null}}]}`, `children[0] (Pod): metadata.name is missing: ` + name},
		{"an empty name", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: ""}}]}`, `children[0] (Pod): metadata.name is empty: ` + name},
		{"a number as name", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: 1}}]}`, `children[0] (Pod): metadata.name is a number: ` + name},
		{"a name to be generated", `{children: [{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}]}`, `children[0] (Pod): metadata.name is missing: ` + name},
		{"the third of three", `{children: [
			{apiVersion: v1, kind: Pod, metadata: {name: a}},
			{apiVersion: v1, kind: Pod, metadata: {name: b}},
			{apiVersion: apps/v1, kind: StatefulSet, metadata: {}},
		]}`, `children[2] (StatefulSet): metadata.name is missing: ` + name},
	})
}

func TestInvalidMetadataOfChildIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), all, []refusal{
		{"a number as namespace", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 1}}]}`, `children[0] (Pod "a"): metadata.namespace is a number, want a string`},
		{"an object as namespace", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: {}}}]}`, `children[0] (Pod "a"): metadata.namespace is an object, want a string`},
		{"a list as labels", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: [x]}}]}`, `children[0] (Pod "a"): metadata.labels is a list, want an object`},
		{"text as annotations", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: x}}]}`, `children[0] (Pod "a"): metadata.annotations is a string, want an object`},
		{"a number as label", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: "1", replicas: 1}}}]}`, `children[0] (Pod "a"): metadata.labels["replicas"] is a number, want a string: put it in quotes`},
		{"a boolean as annotation", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {x: true}}}]}`, `children[0] (Pod "a"): metadata.annotations["x"] is a boolean, want a string: put it in quotes`},
		{"the first of several by name", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {z: 1, b: [], c: 2}}}]}`, `children[0] (Pod "a"): metadata.labels["b"] is a list, want a string: put it in quotes`},
	})
}

const undeclaredSecret = `children[1] (Secret "s"): Secret.v1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): to allow it, add to childResources: - {apiVersion: v1, resource: secrets}`

func TestUndeclaredKindFromScriptIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), strict, []refusal{
		{"another kind", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: s}}]}`, undeclaredSecret},
		{
			"another version", `{children: [{apiVersion: apps/v1beta1, kind: StatefulSet, metadata: {name: s}}]}`,
			`children[0] (StatefulSet "s"): StatefulSet.apps/v1beta1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "apiVersion: apps/v1"?`,
		}, {
			"another group", `{children: [{apiVersion: example.com/v1, kind: Pod, metadata: {name: s}}]}`,
			`children[0] (Pod "s"): Pod.example.com/v1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): to allow it, add to childResources: - {apiVersion: example.com/v1, resource: pods}`,
		}, {
			"another case", `{children: [{apiVersion: v1, kind: pod, metadata: {name: s}}]}`,
			`children[0] (pod "s"): pod.v1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "kind: Pod"?`,
		}, {
			"an old version of a kind that is not declared", `{children: [{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: s}}]}`,
			`children[0] (Deployment "s"): Deployment.extensions/v1beta1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "apiVersion: apps/v1"?`,
		}, {
			"an apiVersion without a version", `{children: [{apiVersion: apps, kind: StatefulSet, metadata: {name: s}}]}`,
			`children[0] (StatefulSet "s"): StatefulSet.apps is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "apiVersion: apps/v1"?`,
		}, {
			"no group", `{children: [{apiVersion: v1, kind: Deployment, metadata: {name: s}}]}`,
			`children[0] (Deployment "s"): Deployment.v1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "apiVersion: apps/v1"?`,
		}, {
			"a misspelled kind", `{children: [{apiVersion: apps/v1, kind: Deploymnet, metadata: {name: s}}]}`,
			`children[0] (Deploymnet "s"): Deploymnet.apps/v1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "kind: Deployment"?`,
		}, {
			"another version of a custom resource", `{children: [{apiVersion: example.com/v1beta1, kind: Zone, metadata: {name: s}}]}`,
			`children[0] (Zone "s"): Zone.example.com/v1beta1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "apiVersion: example.com/v1"?`,
		},
	})
	none := newRequest(t)
	none.Expect.Kinds = nil
	checkRefusals(t, none, strict, []refusal{{
		"none is declared", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`,
		`children[0] (Pod "a"): Pod.v1 is not among the controller's childResources (): to allow it, add to childResources: - {apiVersion: v1, resource: pods}`,
	}})
}

func TestUndeclaredKindFromWebhookIsAWarning(t *testing.T) {
	for _, speaker := range lenient {
		resp := ask(t, speakers[speaker](t, `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: s}}]}`), newRequest(t))
		if diff := cmp.Diff([]string{"Pod default/a", "Secret default/s"}, children(resp)); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", speaker, diff)
		}
		if diff := cmp.Diff([]string{undeclaredSecret + "; it is created, but not watched, updated or deleted"}, warnings(resp)); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", speaker, diff)
		}
	}
}

func TestUndeclaredKindDoesNotReplaceChild(t *testing.T) {
	const other = `children[0] (pod "a"): pod.v1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "kind: Pod"?; the Pod.v1 of this name, which the answer does not have, would be deleted`
	checkRefusals(t, observing(t, newRequest(t), "a", "b"), loose, []refusal{
		{"another case", `{children: [{apiVersion: v1, kind: pod, metadata: {name: a}}]}`, other},
		{"the apiVersion of another group", `{children: [{apiVersion: extensions/v1beta1, kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): Pod.extensions/v1beta1 is not among the controller's childResources (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): did you mean "apiVersion: v1"?; the Pod.v1 of this name, which the answer does not have, would be deleted`},
	})
}

func TestDuplicateChildFromScriptIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), strict, []refusal{
		{
			"of the same text", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Pod, metadata: {name: a}}]}`,
			`children[1] (Pod "a"): it is in the list already, as children[0]`,
		}, {
			"that names the namespace", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: b}}, {apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {}}]}`,
			`children[2] (Pod "a"): it is in the list already, as children[1]`,
		},
	})
}

func TestLastDuplicateChildFromWebhookIsUsed(t *testing.T) {
	for _, speaker := range lenient {
		resp := ask(t, speakers[speaker](t, `{children: [
			{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {n1: 1}},
			{apiVersion: v1, kind: Pod, metadata: {name: b}},
			{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {n1: 2}},
		]}`), newRequest(t))
		if diff := cmp.Diff([]string{"Pod default/a", "Pod default/b"}, children(resp)); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", speaker, diff)
		}
		last := resp.Children.Get(podKind, object.Key{Namespace: "default", Name: "a"})
		if diff := cmp.Diff(any(map[string]any{"n1": int64(2)}), last.Map()["spec"]); diff != "" {
			t.Errorf("%s: spec (-want +got):\n%s", speaker, diff)
		}
		if diff := cmp.Diff([]string{`children[2] (Pod "a"): it is in the list already, as children[0]; the last one is used`}, warnings(resp)); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", speaker, diff)
		}
	}
}

func TestSameNameInOtherKindOrNamespaceIsNoDuplicate(t *testing.T) {
	req := clusterScoped(newRequest(t))
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{children: [
			{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}},
			{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: z}},
			{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: x}},
			{apiVersion: example.com/v1, kind: Zone, metadata: {name: a}},
		]}`), req)
		want := []string{"Pod x/a", "Pod z/a", "StatefulSet x/a", "Zone a"}
		if diff := cmp.Diff(want, children(resp)); diff != "" || len(resp.Warnings) != 0 {
			t.Errorf("%s: warnings %v, children (-want +got):\n%s", speaker, resp.Warnings, diff)
		}
	}
}

func TestChildrenKeepOrderOfResponse(t *testing.T) {
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{children: [
			{apiVersion: v1, kind: Pod, metadata: {name: z}},
			{apiVersion: v1, kind: Pod, metadata: {name: a}},
			{apiVersion: v1, kind: Pod, metadata: {name: m}},
		]}`), newRequest(t))
		if diff := cmp.Diff([]string{"Pod default/z", "Pod default/a", "Pod default/m"}, children(resp)); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", speaker, diff)
		}
	}
}

func TestLabelsOfChildMustMatchSelector(t *testing.T) {
	req := newRequest(t)
	req.Expect.Selector = selector(t, "app=cats,tier in (a,b)")
	const why = ` do not match the parent's selector "app=cats,tier in (a,b)": its parent would not recognize it; add the labels, or set generateSelector on the controller`
	checkRefusals(t, req, all, []refusal{
		{"no labels", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`, `children[0] (Pod "a"): its labels ""` + why},
		{"null labels", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: null}}]}`, `children[0] (Pod "a"): its labels ""` + why},
		{"other labels", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: dogs, tier: a}}}]}`, `children[0] (Pod "a"): its labels "app=dogs,tier=a"` + why},
		{"a label that is null", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: cats, tier: null}}}]}`, `children[0] (Pod "a"): its labels "app=cats"` + why},
		{"the second one", `{children: [
			{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: cats, tier: b, more: x}}},
			{apiVersion: v1, kind: Pod, metadata: {name: b, labels: {app: cats}}},
		]}`, `children[1] (Pod "b"): its labels "app=cats"` + why},
	})
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: cats, tier: b, other: null}}}]}`), req)
		want := parse(t, `{name: a, namespace: default, labels: {app: cats, tier: b, other: null}}`)
		if diff := cmp.Diff(any(want), resp.Children.Group(podKind)[0].Map()["metadata"]); diff != "" {
			t.Errorf("%s: metadata (-want +got):\n%s", speaker, diff)
		}
	}
}

func TestGeneratedLabelIsAddedToEveryChild(t *testing.T) {
	req := newRequest(t)
	req.Expect.Labels = map[string]string{"controller-uid": "u1"}
	req.Expect.Selector = selector(t, "controller-uid=u1")
	for name, c := range map[string]struct{ labels, want string }{
		"without labels":    {``, `{controller-uid: u1}`},
		"with null labels":  {`labels: null`, `{controller-uid: u1}`},
		"with no labels":    {`labels: {}`, `{controller-uid: u1}`},
		"with other labels": {`labels: {app: x}`, `{app: x, controller-uid: u1}`},
		"with a null label": {`labels: {app: x, gone: null}`, `{app: x, gone: null, controller-uid: u1}`},
		"with another's":    {`labels: {controller-uid: other}`, `{controller-uid: u1}`},
		"with it already":   {`labels: {controller-uid: u1}`, `{controller-uid: u1}`},
	} {
		for _, speaker := range all {
			resp := ask(t, speakers[speaker](t, `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, `+c.labels+`}}]}`), req)
			got := resp.Children.Group(podKind)[0].Map()["metadata"].(map[string]any)["labels"]
			if diff := cmp.Diff(any(parse(t, c.want)), got); diff != "" {
				t.Errorf("%s, %s: labels (-want +got):\n%s", speaker, name, diff)
			}
		}
	}
}

func TestChildGetsNamespaceOfParent(t *testing.T) {
	for _, speaker := range all {
		for _, namespace := range []string{``, `namespace: null`, `namespace: ""`, `namespace: default`} {
			resp := ask(t, speakers[speaker](t, `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, `+namespace+`}}]}`), newRequest(t))
			if diff := cmp.Diff([]string{"Pod default/a"}, children(resp)); diff != "" {
				t.Errorf("%s: %q: children (-want +got):\n%s", speaker, namespace, diff)
			}
		}
	}
}

func TestChildOutsideNamespaceOfParentIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), all, []refusal{
		{
			"in another namespace", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: other}}]}`,
			`children[0] (Pod "a"): metadata.namespace is "other", but its parent is in "default": the garbage collector would delete it, since an owner must be in the same namespace`,
		}, {
			"cluster-scoped", `{children: [{apiVersion: example.com/v1, kind: Zone, metadata: {name: a}}]}`,
			`children[0] (Zone "a"): it is cluster-scoped and its parent CatSet default/cats is not: the garbage collector would delete it, since a cluster-scoped object cannot have an owner in a namespace`,
		}, {
			"cluster-scoped, with the parent's namespace", `{children: [{apiVersion: example.com/v1, kind: Zone, metadata: {name: a, namespace: default}}]}`,
			`children[0] (Zone "a"): it is cluster-scoped and its parent CatSet default/cats is not: the garbage collector would delete it, since a cluster-scoped object cannot have an owner in a namespace`,
		},
	})
}

func TestChildOfClusterScopedParentNeedsNamespace(t *testing.T) {
	req := clusterScoped(newRequest(t))
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{children: [
			{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}},
			{apiVersion: example.com/v1, kind: Zone, metadata: {name: b}},
			{apiVersion: example.com/v1, kind: Zone, metadata: {name: c, namespace: ""}},
			{apiVersion: example.com/v1, kind: Zone, metadata: {name: d, namespace: null}},
		]}`), req)
		if diff := cmp.Diff([]string{"Pod x/a", "Zone b", "Zone c", "Zone d"}, children(resp)); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", speaker, diff)
		}
	}
	checkRefusals(t, req, all, []refusal{
		{
			"a namespaced child without a namespace", `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`,
			`children[0] (Pod "a"): metadata.namespace is missing: its parent CatSet cats is cluster-scoped and has no namespace`,
		}, {
			"a cluster-scoped child with one", `{children: [{apiVersion: example.com/v1, kind: Zone, metadata: {name: a, namespace: x}}]}`,
			`children[0] (Zone "a"): it is cluster-scoped and cannot have metadata.namespace "x"`,
		},
	})
}

// What the hook gave goes into the last-applied annotation, so it must come through as it is.
func TestChildIsReturnedUnchanged(t *testing.T) {
	text := `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, creationTimestamp: null, annotations: {x: null, h: <&>}},
		spec: {none: null, big: 9007199254740993, f: 0.25, l: [null, {}, []]}, status: {phase: x}, more: true}`
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{children: [`+text+`]}`), newRequest(t))
		if diff := cmp.Diff(parse(t, text), resp.Children.Group(podKind)[0].Map()); diff != "" {
			t.Errorf("%s: child (-want +got):\n%s", speaker, diff)
		}
	}
}

func TestNullAmongChildrenIsLeftOut(t *testing.T) {
	for _, shape := range []Shape{Composite, Decorator} {
		for _, speaker := range all {
			req := newRequest(t)
			req.Shape = shape
			resp := ask(t, speakers[speaker](t, `{`+shape.children()+`: [null, {apiVersion: v1, kind: Pod, metadata: {name: a}}, null]}`), req)
			if diff := cmp.Diff([]string{"Pod default/a"}, children(resp)); diff != "" {
				t.Errorf("children of a %s (-want +got):\n%s", speaker, diff)
			}
			want := []string{shape.children() + "[0]: it is null, and is left out", shape.children() + "[2]: it is null, and is left out"}
			if diff := cmp.Diff(want, warnings(resp)); diff != "" {
				t.Errorf("warnings of a %s (-want +got):\n%s", speaker, diff)
			}
			if got := resp.Place(resp.Children.Get(podKind, object.Key{Namespace: "default", Name: "a"})); got != shape.children()+"[1]" {
				t.Errorf("the place of the Pod of a %s is %s", speaker, got)
			}
		}
	}
}
