package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// cmdSimulated waits until the objects of some kinds in the script's namespace are equal to those in a file that "metascript simulate
// -o yaml" printed, but for what differs between two clusters: UIDs, versions, times, and what nodes and controllers of volumes add.
func cmdSimulated(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	simulated, err := w.decode(ts, ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(eventually(func() error {
		var want, got []*unstructured.Unstructured
		for _, resource := range args[1:] {
			r, err := w.named(resource)
			if err != nil {
				return err
			}
			list, err := r.List(context.Background(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				got = append(got, &list.Items[i])
			}
			for _, o := range simulated {
				if strings.HasPrefix(resource, strings.ToLower(o.GetKind())) {
					want = append(want, o)
				}
			}
		}
		if len(got) == 0 {
			return fmt.Errorf("there are no objects of %s", strings.Join(args[1:], ", "))
		}
		if diff := cmp.Diff(comparable(want, w.name), comparable(got, w.name)); diff != "" {
			return fmt.Errorf("the objects of the cluster differ (-simulated +cluster):\n%s", diff)
		}
		return nil
	}))
}

// differing matches times, and the hashes in names of ControllerRevisions, which depend on the UID of the parent.
var differing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b[0-9a-f]{40}\b`)

// comparable returns the texts of objects without what differs between two clusters. The simulation uses the namespace default.
func comparable(objects []*unstructured.Unstructured, namespace string) []string {
	names := []string{namespace, "default"}
	var texts []string
	for _, o := range objects {
		names = append(names, string(o.GetUID()), "uid of "+o.GetName())
		for _, owner := range o.GetOwnerReferences() {
			names = append(names, string(owner.UID), "uid of "+owner.Name)
		}
	}
	for _, o := range objects {
		o = o.DeepCopy()
		for _, field := range []string{"namespace", "resourceVersion", "creationTimestamp", "managedFields"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		addedByCluster(o)
		text, err := json.MarshalIndent(o.Object, "", "  ")
		if err != nil {
			panic(err) // it was decoded from JSON
		}
		texts = append(texts, differing.ReplaceAllString(strings.NewReplacer(names...).Replace(string(text)), "..."))
	}
	slices.Sort(texts)
	return texts
}

// addedByCluster removes the fields that nodes, admission, allocators of addresses and controllers of volumes set.
func addedByCluster(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Pod":
		for _, field := range []string{"nodeName", "tolerations", "preemptionPolicy", "priority", "enableServiceLinks", "serviceAccount", "serviceAccountName"} {
			unstructured.RemoveNestedField(o.Object, "spec", field)
		}
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		o.Object["status"] = phase
	case "Service":
		for _, field := range []string{"clusterIP", "clusterIPs"} {
			unstructured.RemoveNestedField(o.Object, "spec", field)
		}
	case "PersistentVolumeClaim":
		for _, path := range [][]string{{"metadata", "annotations"}, {"metadata", "finalizers"}, {"spec", "volumeName"}, {"spec", "storageClassName"}} {
			unstructured.RemoveNestedField(o.Object, path...)
		}
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		o.Object["status"] = phase
	}
}
