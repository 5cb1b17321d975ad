package failures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/engine"
)

// admission matches what refused an object: a webhook, also one that cannot be called, a policy or a quota.
var admission = regexp.MustCompile(`admission webhook "[^"]*"|failed calling webhook "[^"]*"|ValidatingAdmissionPolicy '[^']*'|exceeded quota: [^,]*`)

// CauseOf names the cause of the error of a sync, if it is one that other parents may share and that goes away without a change of the
// parent: a kind that is not served, a missing permission, a quota, an admission webhook or policy, a webhook, or an API server that does
// not answer. It returns "" for any other error. The name is only to be compared; namespace is that of the parent.
func CauseOf(err error, namespace string) string {
	var script *engine.Error
	var webhook *hook.WebhookError
	var later *hook.RetryAfter
	var missing *kube.NotServedError
	var refused apierrors.APIStatus
	var request *url.Error
	var network net.Error
	switch {
	case err == nil, errors.As(err, &script):
		return ""
	case errors.As(err, &webhook):
		return "webhook " + webhook.Address
	case errors.As(err, &later):
		return "webhook"
	case errors.As(err, &missing):
		return fmt.Sprintf("kind %s %s", missing.APIVersion, missing.Name)
	case errors.As(err, &refused):
		return causeOfStatus(refused.Status(), namespace)
	case errors.As(err, &request), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return noAnswer
	}
	return ""
}

// noAnswer is the cause of errors of an API server that does not answer.
const noAnswer = "API server"

func causeOfStatus(status metav1.Status, namespace string) string {
	details := cmp.Or(status.Details, &metav1.StatusDetails{})
	of := fmt.Sprintf("%s.%s", details.Kind, details.Group)
	if by := admission.FindString(status.Message); by != "" {
		return fmt.Sprintf("%s for %s in %q", by, of, namespace)
	}
	switch status.Reason {
	case metav1.StatusReasonForbidden:
		return fmt.Sprintf("permission for %s in %q", of, namespace)
	case metav1.StatusReasonNotFound: // of an object that exists when it is written: its kind is gone
		return "kind " + of
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists, metav1.StatusReasonRequestEntityTooLarge:
		return ""
	}
	return noAnswer
}
