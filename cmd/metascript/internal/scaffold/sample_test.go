package scaffold

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"metascript/controller/schemas"
	"metascript/engine"
)

// sampleKinds returns the kinds that have a sample.
func sampleKinds(t *testing.T) []Kind {
	t.Helper()
	var all []Kind
	err := fs.WalkDir(samples, "samples", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		apiVersion := strings.TrimPrefix(path.Dir(file), "samples/")
		kind, err := ParseKind(strings.TrimSuffix(path.Base(file), ".yaml") + "." + apiVersion)
		all = append(all, kind)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d samples, error %v", len(all), err)
	}
	return all
}

// Each sample is a valid object, also when it is ready, and uses fields that exist. Each field is used.
func TestSamplesAreValid(t *testing.T) {
	used := map[string]bool{"version": true}
	for _, kind := range sampleKinds(t) {
		p, err := New(Options{Name: "app", Language: engine.Starlark, Children: []Kind{kind}})
		if err != nil {
			t.Fatal(err)
		}
		child := p.Children[0]
		child.uses(used)
		desired, err := examples{p}.desired(child)
		if err != nil {
			t.Errorf("%s: %v", kind.Name(), err)
			continue
		}
		known, err := schemas.Kubernetes().Kind(kind.GVK())
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range known.Validate(desired) {
			t.Errorf("%s: %s", kind.Name(), problem)
		}
		for _, problem := range schemas.OfPart(known.Validate(examples{p}.Observed()[0].(map[string]any))) {
			t.Errorf("%s that is ready: %s", kind.Name(), problem)
		}
		if child.About == "" || (child.Update == "InPlace") != (child.Why == "") || (child.Ready == nil) != (child.sample.Observed == nil) {
			t.Errorf("%s: about, update, why, ready and observed do not fit: %+v", kind.Name(), child.sample)
		}
	}
	fields, err := readFields()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		if !used[f.Name] {
			t.Errorf("no sample uses the field %s", f.Name)
		}
		delete(used, f.Name)
	}
	if len(used) > 0 {
		t.Errorf("there are no fields %v", used)
	}
}

func TestLiterals(t *testing.T) {
	const text = `
# Two lines
# of comment.
replicas: !spec replicas
name: !var name
"a/b": {x: true, y: null, z: [1, "it's", plain]}
empty: {}
one:
- image: !var image
  args: [a]
several:
# The first.
- 1
- 2
`
	want := map[string]string{
		engine.Starlark: `{
    # Two lines
    # of comment.
    "replicas": spec["replicas"],
    "name": name,
    "a/b": {"x": True, "y": None, "z": [1, "it's", "plain"]},
    "empty": {},
    "one": [{
        "image": spec["image"] + ":" + spec["version"],
        "args": ["a"],
    }],
    "several": [
        # The first.
        1,
        2,
    ],
}`,
		engine.JavaScript: `{
  // Two lines
  // of comment.
  replicas: spec.replicas,
  name,
  "a/b": {x: true, y: null, z: [1, "it's", "plain"]},
  empty: {},
  one: [{
    image: ` + "`${spec.image}:${spec.version}`" + `,
    args: ["a"],
  }],
  several: [
    // The first.
    1,
    2,
  ],
}`,
		engine.Jsonnet: `{
  // Two lines
  // of comment.
  replicas: spec.replicas,
  name: name,
  'a/b': { x: true, y: null, z: [1, "it's", 'plain'] },
  empty: {},
  one: [{
    image: spec.image + ':' + spec.version,
    args: ['a'],
  }],
  several: [
    // The first.
    1,
    2,
  ],
}`,
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	for name, want := range want {
		if diff := cmp.Diff(want, languageOf(name).literal(document.Content[0], 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
