package kube

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/object"
)

// hush gives an error of writing o without what is in it if it is a Secret: the API server quotes what it refuses. It
// keeps what else the API server says, so that errors are told apart as before.
func hush(err error, o *object.Object) error {
	if err == nil || !object.IsSecret(o) {
		return err
	}
	secrets := object.Secrets(slices.Values([]*object.Object{o}))
	redact := func(text string) string { return object.Redact(text, secrets) }
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if text := redact(err.Error()); text != err.Error() {
			return errors.New(text)
		}
		return err
	}
	said := status.Status()
	clean := &apierrors.StatusError{ErrStatus: *said.DeepCopy()}
	clean.ErrStatus.Message = redact(said.Message)
	if d := clean.ErrStatus.Details; d != nil {
		for i, cause := range d.Causes {
			d.Causes[i] = metav1.StatusCause{Type: cause.Type, Message: redact(cause.Message), Field: cause.Field}
		}
	}
	return clean
}
