package object_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// contents are objects with everything that getters read, and with nearly nothing.
var contents = []string{
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default, uid: u, resourceVersion: "7", generation: 3, labels: {app: web, empty: ""},
		annotations: {a: b}, finalizers: [x/y], creationTimestamp: "2024-01-02T03:04:05Z", deletionTimestamp: "2024-01-02T03:04:06Z", deletionGracePeriodSeconds: 30,
		ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: c, uid: u2}, {apiVersion: v1, kind: ConfigMap, name: d, uid: u3, controller: true, blockOwnerDeletion: false}]},
		spec: {replicas: 3, ratio: 1.5, none: null, list: [1, {a: b}], map: {}}, status: {ready: true}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: n, labels: {}, annotations: null}}`,
	`{kind: K, metadata: {labels: {a: 1, b: c}, ownerReferences: []}}`,
	`{metadata: x}`,
	`{}`,
}

// Whatever is read of an object is the same for both of its forms.
func TestPackedObjectReadsAsTheSameMap(t *testing.T) {
	for _, text := range contents {
		o := objecttest.ParseObject(t, text)
		p := objecttest.Packed(t, o)
		getters := reflect.TypeOf(o)
		for i := range getters.NumMethod() {
			m := getters.Method(i)
			if m.Type.NumIn() != 1 || m.Type.NumOut() == 0 || m.Name == "Value" || m.Name == "Packed" || m.Name == "GetObjectKind" {
				continue
			}
			want, got := results(m.Func, o), results(m.Func, p)
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s of %s: got %v, want %v", m.Name, text, got, want)
			}
		}
		for _, path := range [][]string{nil, {"metadata"}, {"metadata", "name"}, {"metadata", "name", "x"}, {"spec", "none"}, {"spec", "none", "x"}, {"spec", "list"}, {"spec", "map"}, {"nowhere"}} {
			want, found := o.Field(path...)
			got, also := p.Field(path...)
			if diff := cmp.Diff(want, got); diff != "" || found != also || o.TextAt(path...) != p.TextAt(path...) || !reflect.DeepEqual(o.TextsAt(path...), p.TextsAt(path...)) {
				t.Errorf("%v of %s: found %v and %v (-map +packed):\n%s", path, text, found, also, diff)
			}
		}
		if !o.Equal(p) || !p.Equal(o) || !reflect.DeepEqual(object.ControllerOf(o), object.ControllerOf(p)) || object.Deleting(o) != object.Deleting(p) {
			t.Errorf("%s differs from what it is packed as", text)
		}
	}
}

func results(getter reflect.Value, o *object.Object) []any {
	var all []any
	for _, result := range getter.Call([]reflect.Value{reflect.ValueOf(o)}) {
		all = append(all, result.Interface())
	}
	return all
}

func TestObjectIsWrittenAsJSON(t *testing.T) {
	for _, text := range contents {
		o := objecttest.ParseObject(t, text)
		want, err := json.Marshal(o.Map())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []*object.Object{o, objecttest.Packed(t, o)} {
			if got, err := json.Marshal(o); err != nil || string(got) != string(want) {
				t.Errorf("got %s, error %v, want %s", got, err, want)
			}
		}
	}
}

func TestLabelsAreSelected(t *testing.T) {
	for _, text := range contents[:2] {
		o := objecttest.ParseObject(t, text)
		for _, selector := range []string{"", "app", "!app", "app=web", "app!=web", "app in (x,web)", "app notin (x,web)", "empty", "empty=", "other", "other="} {
			parsed, err := labels.Parse(selector)
			if err != nil {
				t.Fatal(err)
			}
			want := parsed.Matches(labels.Set(o.GetLabels()))
			for _, o := range []*object.Object{o, objecttest.Packed(t, o)} {
				if all := object.LabelsOf(o); parsed.Matches(all) != want || all.Has("app") != (all.Get("app") != "") {
					t.Errorf("%q matches %s: %t, want %t", selector, text, !want, want)
				}
			}
		}
	}
}

func TestEmptied(t *testing.T) {
	spec, labels := []string{"spec"}, []string{"metadata", "labels"}
	for _, c := range []struct{ o, want string }{
		{`{spec: {a: 1}, metadata: {labels: {b: c}, name: x}}`, `{spec: {}, metadata: {labels: {}, name: x}}`},
		{`{metadata: {labels: {b: c}}}`, `{metadata: {labels: {}}}`},
		{`{spec: {}, metadata: {name: x}}`, ``},
		{`{spec: null, data: {a: b}}`, ``},
	} {
		o := objecttest.ParseObject(t, c.o)
		for _, o := range []*object.Object{o, objecttest.Packed(t, o)} {
			got := object.Emptied(o, spec, labels)
			if got == nil && c.want == "" {
				continue
			}
			if got == nil || c.want == "" || !got.Equal(objecttest.ParseObject(t, c.want)) || !o.Equal(objecttest.ParseObject(t, c.o)) {
				t.Errorf("%s: got %v, want %s", c.o, got, c.want)
			}
		}
	}
}
