package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"

	"metascript/test/authority"
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

// cmdMutator runs an admission webhook for ConfigMaps of the script's namespace with a label "guarded". It stores another value in
// data.value and data.stamp at each request, also at a dry run, as one does that adds a time or the digest of a tag.
func cmdMutator(ts *testscript.TestScript, _ bool, _ []string) {
	ca, err := authority.New("mutator")
	ts.Check(err)
	pair, err := ca.Issue("localhost")
	ts.Check(err)
	certificate, err := pair.TLS()
	ts.Check(err)
	var requests atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mutate(w, r, requests.Add(1)) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	ts.Defer(server.Close)

	w := worldOf(ts)
	objects, err := w.decode(ts, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: $NAME}
webhooks:
- name: mutator.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NAME}}
  objectSelector: {matchExpressions: [{key: guarded, operator: Exists}]}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  clientConfig: {url: %q, caBundle: %s}
`, server.URL, base64.StdEncoding.EncodeToString([]byte(ca.PEM))))
	ts.Check(err)
	_, err = w.apply(objects[0])
	ts.Check(err)
}

// mutate answers an AdmissionReview: the end of data.value, after @, and data.stamp are the number n.
func mutate(w http.ResponseWriter, r *http.Request, n int64) {
	var review struct {
		Request struct {
			UID    string
			Object struct{ Data map[string]string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	value, _, _ := strings.Cut(review.Request.Object.Data["value"], "@")
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/data/value","value":"%s@%d"},{"op":"add","path":"/data/stamp","value":"%d"}]`, value, n, n)
	_ = json.NewEncoder(w).Encode(map[string]any{ // an error is that of the connection
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": map[string]any{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": patch},
	})
}
