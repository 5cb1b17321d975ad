package e2e

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// cmdTheirs creates objects as Metacontroller does: with plain requests of the manager "metacontroller", and the status
// through its subresource. Of an object that exists already only the status is written.
func cmdTheirs(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	for _, file := range args {
		objects, err := w.decode(ts, ts.ReadFile(file))
		ts.Check(err)
		for _, o := range objects {
			if err := w.create(o, "metacontroller"); err != nil {
				ts.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	}
}

func (w *world) create(o *unstructured.Unstructured, manager string) error {
	ctx := context.Background()
	r, err := w.resource(o)
	if err != nil {
		return err
	}
	stored, err := r.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		stored, err = r.Get(ctx, o.GetName(), metav1.GetOptions{})
	}
	status, found := o.Object["status"]
	if err != nil || !found {
		return err
	}
	stored.Object["status"] = status
	_, err = r.UpdateStatus(ctx, stored, metav1.UpdateOptions{FieldManager: manager})
	return err
}

// cmdSHA1 stores the SHA-1 of texts, one after the other, in hexadecimal: the end of a ControllerRevision's name.
func cmdSHA1(ts *testscript.TestScript, _ bool, args []string) {
	sum := sha1.Sum([]byte(strings.Join(args[1:], "")))
	ts.Setenv(args[0], hex.EncodeToString(sum[:]))
	fmt.Fprintln(ts.Stdout(), ts.Getenv(args[0]))
}

// cmdPeer does what Metacontroller does by server-side apply, as the manager "metacontroller": "peer apply FILE" applies
// objects; "peer same FILE" makes the dry run that precedes a Recreate, and fails if it would change an object.
func cmdPeer(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	objects, err := w.decode(ts, ts.ReadFile(args[1]))
	ts.Check(err)
	changes := ""
	for _, o := range objects {
		differs, err := w.peer(o, args[0] == "same")
		ts.Check(err)
		changes += differs
	}
	if (changes != "") != neg {
		ts.Fatalf("Metacontroller would change %q", changes)
	}
}

// peer applies o, or makes a dry run; it returns what the dry run would change.
func (w *world) peer(o *unstructured.Unstructured, try bool) (string, error) {
	ctx := context.Background()
	r, err := w.resource(o)
	if err != nil {
		return "", err
	}
	options := metav1.ApplyOptions{FieldManager: "metacontroller", Force: true}
	if !try {
		_, err := r.Apply(ctx, o.GetName(), o, options)
		return "", err
	}
	before, err := r.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	options.DryRun = []string{metav1.DryRunAll}
	after, err := r.Apply(ctx, o.GetName(), o, options)
	if err != nil {
		return "", err
	}
	for _, found := range []*unstructured.Unstructured{before, after} {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(found.Object, "metadata", field)
		}
		delete(found.Object, "status")
	}
	return cmp.Diff(before.Object, after.Object), nil
}
