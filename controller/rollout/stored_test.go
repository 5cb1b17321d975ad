package rollout

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

const stored = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: r, namespace: default, labels: {a: b}}
parentPatch: {spec: {template: {image: a}}}
children:
- {apiGroup: "", kind: Pod, names: [web-1, web-0]}
- {apiGroup: apps, kind: StatefulSet, names: [db]}
`

func TestDecode(t *testing.T) {
	podNamed := func(name string) Child { return Child{schema.GroupKind{Kind: "Pod"}, name} }
	all := Children{podNamed("web-0"): true, podNamed("web-1"): true, Child{schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "db"}: true}
	for _, c := range []struct {
		name, old, new string
		want           Children
	}{
		{"as we write it", "", "", all},
		{"without children", stored[strings.Index(stored, "children:"):], "", Children{}},
		{"with null for children", stored[strings.Index(stored, "children:"):], "children: null", Children{}},
		{"names with a namespace", "web-1, web-0", "default/web-1, web-0", all},
		{"a name twice", "web-1, web-0", "web-1, web-0, web-1", all},
		{"a kind twice", "[web-1, web-0]", `[web-1]}` + "\n" + `- {kind: Pod, names: [web-0]`, all},
		{"no names", "[web-1, web-0]", "[]", Children{Child{schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "db"}: true}},
	} {
		r, err := Decode(parseObject(t, strings.Replace(stored, c.old, c.new, 1)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, r.Children); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(parse(t, `{spec: {template: {image: a}}}`), r.Patch); diff != "" {
			t.Errorf("%s: patch (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestDamagedRevisions(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no patch", "parentPatch: {spec: {template: {image: a}}}", "", "parentPatch is missing, want an object"},
		{"a patch that is text", "{spec: {template: {image: a}}}", "spec", `parentPatch is "spec", want an object`},
		{"children that are no list", stored[strings.Index(stored, "children:"):], "children: {Pod: a}", "children is an object, want a list"},
		{"an entry that is no object", `{apiGroup: "", kind: Pod, names: [web-1, web-0]}`, "web-1", `children[0] is "web-1", want an object`},
		{"a group that is no text", `apiGroup: apps`, "apiGroup: 1", "children[1].apiGroup is 1, want a string"},
		{"no kind", "kind: Pod, ", "", `children[0].kind is missing, want a kind such as "Pod"`},
		{"names that are no list", "[web-1, web-0]", "web-1", `children[0].names is "web-1", want a list`},
		{"a name that is a number", "web-1, web-0", "web-1, 7", "children[0].names[1] is 7, want a name"},
		{"an empty name", "web-1, web-0", `web-1, ""`, `children[0].names[1] is "", want a name`},
	} {
		_, err := Decode(parseObject(t, strings.Replace(stored, c.old, c.new, 1)))
		want := "ControllerRevision default/r cannot be used: " + c.want + "; correct it, or delete it: its children then move to the latest revision one by one"
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, want)
		}
	}
}

func TestArrange(t *testing.T) {
	at := func(name, image, script string) Revision {
		return Revision{Name: name, Script: script, Patch: map[string]any{"spec": map[string]any{"image": image}}, stored: child(name, image)}
	}
	for _, c := range []struct {
		name   string
		latest Revision
		stored []Revision
		want   string // the latest and the others
		err    string
	}{
		{"none is stored", at("a", "v1", ""), nil, "a", ""},
		{"only others are", at("a", "v1", ""), []Revision{at("b", "v2", "")}, "a b", ""},
		{"it is among others", at("a", "v1", ""), []Revision{at("b", "v2", ""), at("a", "v1", ""), at("c", "v3", "")}, "a b c", ""},
		{"under another name", at("a", "v1", ""), []Revision{at("b", "v2", ""), at("z", "v1", "")}, "z b", ""},
		{"twice", at("a", "v1", ""), []Revision{at("0", "v1", ""), at("a", "v1", "")}, "a 0", ""},
		{"with another script", at("a", "v1", "s2"), []Revision{at("b", "v1", "s1")}, "a b", ""},
		{"changed by hand", at("a", "v1", ""), []Revision{at("a", "v2", "")}, "", "parentPatch is not the one that the name was made from"},
	} {
		latest, older, err := Arrange(c.latest, c.stored)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %s", c.name, err, c.err)
			}
			continue
		}
		got := latest.Name
		for _, r := range older {
			got += " " + r.Name
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestNullsAndNumberTypesDoNotChangeRevision(t *testing.T) {
	a := Revision{Patch: parse(t, `{spec: {a: 1, b: null, c: {d: null}}}`)}
	b := Revision{Patch: parse(t, `{spec: {a: 1.0, c: {}}}`)}
	if !a.is(b) || !b.is(a) {
		t.Error("two patches that are stored as the same differ")
	}
}

// The latest revision comes first, since it alone gains children: interrupted at any place, none is without one.
func TestWrites(t *testing.T) {
	rules := Rules{Kinds: map[object.Kind]Rule{pods: {}}}
	blank := parseObject(t, `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, metadata: {namespace: default, labels: {l: "1"}}}`)
	var held []Revision
	decode := func(text, wants string) Revision {
		r, err := Decode(parseObject(t, text))
		if err != nil {
			t.Fatal(err)
		}
		r.Desired = revision(wants).Desired
		return r
	}
	held = append(held,
		decode(`{kind: ControllerRevision, metadata: {name: v1, namespace: default}, parentPatch: {spec: v1}, children: [{apiGroup: "", kind: Pod, names: [c, b, a]}]}`, "v1: a b c"),
		decode(`{kind: ControllerRevision, metadata: {name: v0, namespace: default}, parentPatch: {spec: v0}}`, "v0: a b c"))
	latest := revision("v2: a b c")
	latest.Script = "digest"
	step := Next(latest, held, observe("a@v1 b@v1 c@v1"), rules)
	ops := step.Writes(blank)
	want := []string{
		"create ControllerRevision default/v2: a new revision of the parent",
		"update ControllerRevision default/v1: children moved",
		"delete ControllerRevision default/v0: no child is at this revision",
	}
	var got []string
	for _, op := range ops {
		got = append(got, op.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("operations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(parse(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: v2, namespace: default, labels: {l: "1"}, annotations: {metacontroller.k8s.io/script-digest: digest}}
parentPatch: {spec: v2}
children: [{apiGroup: "", kind: Pod, names: [a]}]
`), ops[0].Object.Map()); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(parse(t, `{kind: ControllerRevision, metadata: {name: v1, namespace: default}, parentPatch: {spec: v1}, children: [{apiGroup: "", kind: Pod, names: [b, c]}]}`), ops[1].Object.Map()); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
}

func TestNoWritesWithoutChanges(t *testing.T) {
	r, err := Decode(parseObject(t, `{kind: ControllerRevision, metadata: {name: v1, namespace: default}, parentPatch: {spec: v1}, children: [{apiGroup: "", kind: Pod, names: [c, default/b, a, a]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Desired = revision("v1: a b c").Desired
	step := Next(r, nil, observe("a@v1 b@v1 c@v1"), Rules{Kinds: map[object.Kind]Rule{pods: {}}})
	if ops := step.Writes(nil); len(ops) > 0 {
		t.Errorf("operations %v, want none", slices.Collect(slices.Values(ops)))
	}
}
