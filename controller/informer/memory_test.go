package informer

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/selection"
	"metascript/engine/packed"
)

// An object that was replaced by another version does not stay in memory, although its keys and its values in indexes are those of the
// first version.
func TestReplacedObjectsDoNotStayInMemory(t *testing.T) {
	const n = 40
	for name, more := range map[string]string{
		"with an owner":      `,"namespace":"namespace-%[1]d","ownerReferences":[{"apiVersion":"v1","kind":"Widget","name":"w","uid":"uid-of-owner-%[1]d","controller":true}]`,
		"orphans":            `,"namespace":"namespace-%[1]d"`,
		"without namespaces": `,"annotations":{"example.com/number":"%[1]d"}`,
	} {
		t.Run(name, func(t *testing.T) {
			i := newCluster().open(t, Spec{Resource: configMaps})
			i.WithFinalizer("x")
			app := labels.SelectorFromSet(labels.Set{"app": "x"})
			for _, q := range []selection.Query{{Names: []string{"x"}}, {Namespace: "x"}, {Namespace: "x", Labels: app}, {Labels: app}} {
				i.Select(q)
			}
			i.Orphans("x", app)
			i.Orphans("", app)
			store, d := i.parts()[0].GetIndexer(), newDecoder(Spec{}, nil)
			set := func(o, version int) *cached {
				text := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"%[2]d","name":"object-%[1]d","uid":"uid-%[1]d",
					"labels":{"app":"app-%[1]d"},"finalizers":["example.com/finalizer-%[1]d"]` + more + `}}`
				made, err := d.object(fmt.Appendf(nil, text, o, version))
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Update(made); err != nil {
					t.Fatal(err)
				}
				return made
			}
			var first []packed.Ref
			for o := range n {
				first = append(first, set(o, 1).Packed().Ref())
			}
			for o := range n {
				set(o, 2)
			}
			runtime.GC()
			left := 0
			for _, ref := range first {
				if !ref.To(packed.Map{}) {
					left++
				}
			}
			if objects := len(i.List()); left > 0 || objects != n {
				t.Errorf("the cache has %d objects, and %d that were replaced are in memory", objects, left)
			}
		})
	}
}
