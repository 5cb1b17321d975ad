package scale

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// measureRaw measures the writes that no controller can avoid, without a controller: those that create n parents, their children and one
// status for each, and then those that edit all parents and children.
func measureRaw(b *testing.B, c *cluster, n int) {
	w := &rawWriter{cluster: c}
	begun := time.Now()
	each(b, n, w.create)
	b.ReportMetric(time.Since(begun).Seconds(), "converge-s")
	begun = time.Now()
	each(b, n, w.edit)
	b.ReportMetric(time.Since(begun).Seconds(), "edit-s")
}

// warm makes the API server ready for a measurement: the first requests for a new kind take longer, and its first watches may end.
func (c *cluster) warm(b *testing.B) {
	b.Helper()
	w := &rawWriter{cluster: c}
	each(b, 300, w.create)
	for _, resource := range []schema.GroupVersionResource{configMaps, widgets} {
		must(b, c.Resource(resource).Namespace("default").DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
}

// A rawWriter writes parents together with their children.
type rawWriter struct {
	*cluster
	parents sync.Map // *unstructured.Unstructured, by name
}

// create creates a parent with its children, and updates its status.
func (w *rawWriter) create(ctx context.Context, name string) error {
	parent, err := w.cluster.create(ctx, name)
	if err != nil {
		return err
	}
	w.parents.Store(name, parent)
	for i := range childrenOfEach {
		if _, err := w.Resource(configMaps).Namespace("default").Create(ctx, rawChild(parent, i, "first"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	updated := parent.DeepCopy()
	updated.Object["status"] = map[string]any{"observed": int64(childrenOfEach)}
	_, err = w.Resource(widgets).Namespace("default").UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	return err
}

// edit edits a parent and its children.
func (w *rawWriter) edit(ctx context.Context, name string) error {
	if err := w.cluster.edit(ctx, name, "second"); err != nil {
		return err
	}
	parent, _ := w.parents.Load(name)
	for i := range childrenOfEach {
		child := rawChild(parent.(*unstructured.Unstructured), i, "second")
		if _, err := w.Resource(configMaps).Namespace("default").Update(ctx, child, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// rawChild returns a child of a parent.
func rawChild(parent *unstructured.Unstructured, i int, value string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("%s-%d", parent.GetName(), i)},
		"data": map[string]any{"index": fmt.Sprint(i), "value": value},
	}}
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
	return o
}
