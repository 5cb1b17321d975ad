package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// sized adds the size, the limit and a remedy to an error that says that o is too large. It returns other errors unchanged.
func sized(err error, o *object.Object) error {
	if err == nil {
		return nil
	}
	why := tooLarge(err, o)
	if why == "" {
		return err
	}
	return fmt.Errorf("it is %s as JSON, and %s: %w", kibibytes(sizeOf(o.Map())), why, err)
}

// tooLarge returns which limit o exceeds according to err, and what to do; "" if err says something else.
func tooLarge(err error, o *object.Object) string {
	text := err.Error()
	kind := o.GroupVersionKind()
	holdsData := kind.Group == "" && (kind.Kind == "ConfigMap" || kind.Kind == "Secret")
	switch {
	case isTooLong(err, "metadata.annotations"):
		return annotationsOf(o)
	case holdsData && isTooLong(err, "[]", "", "data"):
		return fmt.Sprintf("the API server accepts at most 1 MiB of data in one %s; split it into several", kind.Kind)
	case strings.Contains(text, "etcdserver: request is too large"), strings.Contains(text, "message larger than max"):
		return "etcd accepts at most 1.5 MiB in one request, unless its flag --max-request-bytes is set; make it smaller, or split it into several objects" + statusOf(o)
	case apierrors.IsRequestEntityTooLargeError(err):
		return "the API server accepts at most 3 MiB in one request, and some proxies less; make it smaller, or split it into several objects" + statusOf(o)
	}
	return ""
}

// isTooLong reports whether err says that one of the fields is too long.
func isTooLong(err error, fields ...string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		for _, field := range fields {
			if cause.Type == metav1.CauseTypeTooLong && cause.Field == field {
				return true
			}
		}
	}
	return false
}

// annotationsOf returns the size of the annotations of o, and the likely reason.
func annotationsOf(o *object.Object) string {
	all := 0
	for key, value := range o.GetAnnotations() {
		all += len(key) + len(value)
	}
	text := fmt.Sprintf("its annotations are %s, and the API server accepts at most %s", kibibytes(all), kibibytes(plan.MaxAnnotations))
	if copied := len(o.GetAnnotations()[plan.LastApplied]); copied > 0 {
		text += fmt.Sprintf("; %s of it is the copy that dynamic apply keeps in %s: set spec.applyStrategy: ServerSideApply, or make it smaller", kibibytes(copied), plan.LastApplied)
	}
	return text
}

// statusOf returns the size of the status of o if it is more than half of o; "" otherwise.
func statusOf(o *object.Object) string {
	if status := sizeOf(o.Map()["status"]); 2*status > sizeOf(o.Map()) {
		return fmt.Sprintf(" (its status is %s)", kibibytes(status))
	}
	return ""
}

// sizeOf returns the length of v as JSON.
func sizeOf(v any) int {
	text, _ := json.Marshal(v) // an object is always valid JSON
	return len(text)
}

func kibibytes(n int) string { return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10) }
