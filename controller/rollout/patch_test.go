package rollout

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// Objects out of YAML.
var parse, parseObject = objecttest.Parse, objecttest.ParseObject

const parent = `{apiVersion: example.com/v1, kind: Set, metadata: {name: web, namespace: default, uid: u-1, labels: {x: y}}, spec: {replicas: 3, template: {image: a}}, status: {n: 1}}`

func TestPatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths []string
		want  string
		then  string // the parent with the patch applied to one that differs in everything
	}{
		{"the spec", DefaultPaths, `{spec: {replicas: 3, template: {image: a}}}`, `{spec: {replicas: 3, template: {image: a}}}`},
		{"below the spec", []string{"spec.template"}, `{spec: {template: {image: a}}}`, `{spec: {replicas: 9, template: {image: a}, more: m}}`},
		{"two fields", []string{"spec.template.image", "spec.replicas"}, `{spec: {replicas: 3, template: {image: a}}}`, `{spec: {replicas: 3, template: {image: a, more: m}, more: m}}`},
		{"one within another", []string{"spec.template", "spec"}, `{spec: {replicas: 3, template: {image: a}}}`, `{spec: {replicas: 3, template: {image: a}}}`},
		{"and the other way around", []string{"spec", "spec.template"}, `{spec: {replicas: 3, template: {image: a}}}`, `{spec: {replicas: 3, template: {image: a}}}`},
		{"what was not there", []string{"spec.more", "spec.replicas"}, `{spec: {replicas: 3}}`, `{spec: {replicas: 3, template: {image: z, more: m}}}`},
		{"nothing at all", []string{"nowhere"}, `{}`, `{spec: {replicas: 9, template: {image: z, more: m}, more: m}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			patch, err := Patch(parseObject(t, parent), c.paths)
			if err != nil {
				t.Fatal(err)
			}
			fromCache, err := Patch(objecttest.Packed(t, parseObject(t, parent)), c.paths)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{parse(t, c.want), parse(t, c.want)}, []any{patch, fromCache}); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			now := parseObject(t, `{kind: Set, metadata: {name: web}, spec: {replicas: 9, template: {image: z, more: m}, more: m}, status: {n: 2}}`)
			before := object.Copy(now)
			then, err := Apply(now, patch, c.paths)
			if err != nil {
				t.Fatal(err)
			}
			want := object.Copy(now)
			want.Map()["spec"] = parse(t, c.then)["spec"]
			if diff := cmp.Diff(want.Map(), then.Map()); diff != "" {
				t.Errorf("parent then (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, now); diff != "" {
				t.Errorf("the parent was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPathThroughNonObject(t *testing.T) {
	_, err := Patch(parseObject(t, parent), []string{"spec.replicas.x"})
	want := "Set default/web: revisionHistory.fieldPaths names spec.replicas.x: a field on this path is not an object"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := Apply(parseObject(t, parent), map[string]any{"spec": map[string]any{"replicas": "x"}}, []string{"spec.replicas.x"}); err == nil {
		t.Error("a patch through what is no object was applied")
	}
}

// Names are agreed on with Metacontroller: the sum was made with sha1sum.
func TestName(t *testing.T) {
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for _, c := range []struct {
		name    string
		parents schema.GroupResource
		patch   string
		script  string
		want    string
	}{
		{"a kind of a group", widgets, `{spec: {b: 1, a: "<x>", c: null}}`, "", "widgets.example.com-7c3afaf1824282a4a6461e1ee1300e51e565d918"},
		{"one of the core", schema.GroupResource{Resource: "pods"}, `{spec: {b: 1, a: "<x>", c: null}}`, "", "pods.core-7c3afaf1824282a4a6461e1ee1300e51e565d918"},
		{"with a script", widgets, `{spec: {b: 1, a: "<x>", c: null}}`, "digest", "widgets.example.com-4b0b0eacf0e39deca9b48d2af09879478c4ff84f"},
	} {
		got, err := Name(c.parents, "u-1", parse(t, c.patch), c.script)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	long := schema.GroupResource{Group: "example.com", Resource: string(make([]byte, 300))}
	if got, err := Name(long, "u-1", nil, ""); err != nil || len(got) != 253 {
		t.Errorf("a long name has %d characters (error %v), want 253", len(got), err)
	}
}

func TestUnsupportedPathsAreIgnored(t *testing.T) {
	for _, c := range []struct {
		declared, want []string
		doubts         int
	}{
		{nil, []string{"spec"}, 0},
		{[]string{"spec.template", "metadata.labels", "metadata.annotations.a"}, []string{"spec.template", "metadata.labels", "metadata.annotations.a"}, 0},
		{[]string{"status", "spec.image"}, []string{"spec.image"}, 1},
		{[]string{"status.a"}, []string{"spec"}, 1},
		{[]string{"metadata"}, []string{"metadata.labels", "metadata.annotations"}, 1},
		{[]string{"metadata.resourceVersion", "", "spec..a", "spec"}, []string{"spec"}, 3},
	} {
		paths, doubts := Paths(c.declared)
		if !slices.Equal(paths, c.want) || len(doubts) != c.doubts {
			t.Errorf("%q: paths are %q and warnings %q, want %q and %d warnings", c.declared, paths, doubts, c.want, c.doubts)
		}
	}
}
