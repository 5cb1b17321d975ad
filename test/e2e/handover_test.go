package e2e

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// cmdTheirs puts objects into the cluster as Metacontroller does: by plain requests of the manager "metacontroller",
// with the status by its subresource. Of an object that is there only the status is written.
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

// cmdSHA1 keeps the SHA-1 of texts, one after the other, in hexadecimal: the end of a ControllerRevision's name.
func cmdSHA1(ts *testscript.TestScript, _ bool, args []string) {
	sum := sha1.Sum([]byte(strings.Join(args[1:], "")))
	ts.Setenv(args[0], hex.EncodeToString(sum[:]))
	fmt.Fprintln(ts.Stdout(), ts.Getenv(args[0]))
}
