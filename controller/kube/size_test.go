package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/wire"
)

// refusing is a Writer to an API server that refuses every write so. It serves ConfigMaps and Secrets.
func refusing(t *testing.T, with func() *metav1.Status) *Writer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch {
		case r.Method != http.MethodGet:
			status := with()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			w.WriteHeader(int(status.Code))
			answer = status
		case r.URL.Path == "/api/v1":
			answer = metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1",
				APIResources: []metav1.APIResource{
					{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}, {Name: "secrets", Kind: "Secret", Namespaced: true},
				},
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := wire.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return &Writer{Client: client, Resources: NewResources(discoverer, time.Minute)}
}

func thing(kind string) *object.Object {
	return object.New(map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
			"name": "big", "namespace": "default", "annotations": map[string]any{plan.LastApplied: strings.Repeat("x", 300<<10)},
		},
		"data":   map[string]any{"a": strings.Repeat("y", 100<<10)},
		"status": map[string]any{"b": strings.Repeat("z", 1600<<10)},
	})
}

func TestSizeErrorNamesObjectSizeAndLimit(t *testing.T) {
	invalid := func(kind, path string) *metav1.Status {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "big", field.ErrorList{field.TooLong(field.NewPath(path), "", 1)})
		return &err.ErrStatus
	}
	internal := func(text string) *metav1.Status {
		return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: text}
	}
	for name, c := range map[string]struct {
		status func() *metav1.Status
		want   []string
	}{
		"annotations": {func() *metav1.Status { return invalid("ConfigMap", "metadata.annotations") },
			[]string{"its annotations are 301 KiB", "256 KiB", "300 KiB of it is the copy that dynamic apply keeps", "ServerSideApply"}},
		"data": {func() *metav1.Status { return invalid("ConfigMap", "") }, []string{"1 MiB of data in one ConfigMap"}},
		"etcd": {func() *metav1.Status { return internal("etcdserver: request is too large") }, []string{"etcd accepts at most 1.5 MiB", "its status is 1601 KiB"}},
		"grpc": {func() *metav1.Status {
			return internal("rpc error: code = ResourceExhausted desc = trying to send message larger than max (1 vs. 2097152)")
		}, []string{"etcd accepts at most 1.5 MiB"}},
		"request": {func() *metav1.Status { return &apierrors.NewRequestEntityTooLargeError("limit is 3145728").ErrStatus }, []string{"3 MiB in one request"}},
	} {
		_, err := refusing(t, c.status).Do(t.Context(), plan.Op{Verb: plan.Create, Object: thing("ConfigMap")})
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		for _, part := range append(c.want, "create ConfigMap default/big: it is 2001 KiB as JSON", c.status().Message) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not in %.300s", name, part, err)
			}
		}
		if code := errorCode(err); code != c.status().Code {
			t.Errorf("%s: its code is %d", name, code)
		}
	}
}

func errorCode(err error) int32 {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return 0
	}
	return status.Status().Code
}

func TestOtherErrorsAreNotSizeErrors(t *testing.T) {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "big", field.ErrorList{field.TooLong(field.NewPath("metadata", "name"), "", 253)})
	if got := sized(err, thing("ConfigMap")); got != error(err) {
		t.Errorf("got %v", got)
	}
	if sized(nil, thing("ConfigMap")) != nil {
		t.Error("sized(nil) is an error")
	}
}

func TestErrorsOfWritesDoNotContainSecrets(t *testing.T) {
	quoting := func() *metav1.Status {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data"), "zQx7Kp2mVw9R", "no")})
		return &err.ErrStatus
	}
	secret := thing("Secret")
	secret.Map()["data"] = map[string]any{"a": "elF4N0twMm1WdzlS"}
	w := refusing(t, quoting)
	known := redact.New()
	known.Add(secret)
	config := object.Copy(secret)
	config.SetKind("ConfigMap")
	for name, c := range map[string]struct {
		ctx context.Context
		of  *object.Object
	}{
		"of a Secret":                   {t.Context(), secret},
		"of what is made with a Secret": {redact.NewContext(t.Context(), known), config},
	} {
		_, err := w.Do(c.ctx, plan.Op{Verb: plan.Create, Object: c.of})
		if !apierrors.IsInvalid(err) || strings.Contains(err.Error(), "Kp2m") || !strings.Contains(err.Error(), redact.Mark) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
