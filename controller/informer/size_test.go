package informer

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"metascript/controller/object"
	"metascript/controller/selection"
)

// sized returns a cache with n objects: ten for each owner, and as many orphans; twenty in each namespace. Updated returns another state
// of an object.
func sized(b *testing.B, n int) (i *Informer, updated func(o, version int) *cached) {
	b.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"})
	i = NewFactory(client, slog.New(slog.DiscardHandler)).Open(Spec{Resource: configMaps})
	b.Cleanup(i.Close)
	i.WaitForSync(b.Context())
	d := newDecoder(Spec{}, nil)
	updated = func(o, version int) *cached {
		owner := ""
		if o%2 == 0 {
			owner = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"v1","kind":"Widget","name":"w","uid":"u%06d","controller":true}]`, o/20)
		}
		made, err := d.object(fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"o%06d","namespace":"n%06d","resourceVersion":"%012d","labels":{"app":"a%06d"}%s},"data":{"a":"b"}}`, o, o/20, version, o/20, owner))
		if err != nil {
			b.Fatal(err)
		}
		return made
	}
	return i, updated
}

// BenchmarkSize compares what an event and a lookup cost with 100,000 objects in the cache with what they cost with 1,000. The objects that
// are used are the same few, so that it does not matter how much of the cache is in the memory of the processor. The two caches are used
// in turns, and the fastest turn of each counts, so that the other work of the machine does not matter either.
func BenchmarkSize(b *testing.B) {
	const few, many, turn = 1_000, 100_000, 100
	small, large := operationsOf(b, few), operationsOf(b, many)
	for name := range small {
		b.Run(name, func(b *testing.B) {
			fastest := [2]time.Duration{time.Hour, time.Hour}
			for b.Loop() {
				for n, operation := range []func(int){small[name], large[name]} {
					begin := time.Now()
					for at := range turn {
						operation(at % used)
					}
					fastest[n] = min(fastest[n], time.Since(begin))
				}
			}
			b.ReportMetric(float64(fastest[0].Nanoseconds())/turn, "few-ns")
			b.ReportMetric(float64(fastest[1].Nanoseconds())/turn, "many-ns")
			b.ReportMetric(float64(fastest[1])/float64(fastest[0]), "ratio")
		})
	}
}

// used is how many objects the operations use.
const used = 20

// operationsOf returns operations with one of some objects of a cache with n objects, and logs the memory of these.
func operationsOf(b *testing.B, n int) map[string]func(o int) {
	b.Helper()
	i, updated := sized(b, n)
	indexer := i.parts()[0].GetIndexer()
	namespace := func(o int) string { return fmt.Sprintf("n%06d", o) }
	label := func(o int) labels.Selector { return labels.SelectorFromSet(labels.Set{"app": fmt.Sprintf("a%06d", o)}) }
	operations := map[string]func(o int){
		"get":       func(o int) { i.Get(object.Key{Namespace: namespace(0), Name: fmt.Sprintf("o%06d", o)}) },
		"owner":     func(o int) { i.OwnedBy(types.UID(fmt.Sprintf("u%06d", o))) },
		"labels":    func(o int) { i.Select(selection.Query{Namespace: namespace(o), Labels: label(o)}) },
		"namespace": func(o int) { i.Select(selection.Query{Namespace: namespace(o)}) },
		"orphans":   func(o int) { i.Orphans(namespace(o), label(o)) },
		"missing":   func(int) { i.OwnedBy("x") },
	}
	for _, operation := range operations {
		operation(0) // adds the indexes
	}
	before := inUse()
	for o := range n {
		_ = indexer.Add(updated(o, 1))
	}
	b.Logf("%d objects: %d B for each", n, (inUse()-before)/int64(n))
	var states [2][]*cached
	for o := range used {
		states[0], states[1] = append(states[0], updated(o, 2)), append(states[1], updated(o, 3))
	}
	round := 0
	operations["update"] = func(o int) { round++; _ = indexer.Update(states[round/used%2][o]) }
	operations["delete and add"] = func(o int) { _, _ = indexer.Delete(states[0][o]), indexer.Add(states[0][o]) }
	return operations
}
