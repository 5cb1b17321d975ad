package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// eventNamespaces are the namespaces of events about the script's objects; those about cluster-scoped objects are in default.
func (w *world) eventNamespaces() []string { return []string{w.name, "default"} }

// about selects the events about objects of that name.
func about(name string) string { return "involvedObject.name=" + name }

// events returns the events about an object in the script's namespace, or without a namespace. Objects in the namespace default belong to
// other tests.
func (w *world) events(name string) (string, error) {
	var out strings.Builder
	for _, namespace := range w.eventNamespaces() {
		list, err := w.client.Resource(eventsResource).Namespace(namespace).List(context.Background(), metav1.ListOptions{
			FieldSelector: about(name),
		})
		if err != nil {
			return "", err
		}
		for _, e := range list.Items {
			if of, _, _ := unstructured.NestedString(e.Object, "involvedObject", "namespace"); of != "" && of != w.name {
				continue
			}
			fmt.Fprintf(&out, "%s %s %s\n", e.Object["type"], e.Object["reason"], e.Object["message"])
		}
	}
	return out.String(), nil
}

func cmdEvents(ts *testscript.TestScript, _ bool, args []string) {
	text, err := worldOf(ts).events(args[0])
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), text)
}

// ours matches the warnings that the server itself reports about a parent.
var ours = regexp.MustCompile(`Warning (SyncError|HookWarning|StatusNotStored|FieldNotStored|FieldConflict) .*`)

func cmdQuiet(ts *testscript.TestScript, _ bool, args []string) {
	text, err := worldOf(ts).events(args[0])
	ts.Check(err)
	if warning := ours.FindString(text); warning != "" {
		ts.Fatalf("there is a warning about %s: %s", args[0], warning)
	}
}
