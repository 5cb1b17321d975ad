package e2e

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
)

// cmdStored waits until the API server would store a value in a field of the object in a file: until a policy that was applied is in
// effect, or one that was deleted is not any more.
func cmdStored(ts *testscript.TestScript, _ bool, args []string) {
	w, query := worldOf(ts), jsonpath.New("stored").AllowMissingKeys(true)
	ts.Check(query.Parse(args[1]))
	objects, err := w.decode(ts, ts.ReadFile(args[0]))
	ts.Check(err)
	r, err := w.resource(objects[0])
	ts.Check(err)
	ts.Check(eventually(func() error {
		tried, err := r.Create(context.Background(), objects[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		var got bytes.Buffer
		if err := query.Execute(&got, tried.Object); err != nil {
			return err
		}
		if got.String() != args[2] {
			return fmt.Errorf("%s would be stored with %s %q, want %q", args[0], args[1], got.String(), args[2])
		}
		return nil
	}))
}
