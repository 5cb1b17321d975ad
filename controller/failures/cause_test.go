package failures

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/engine"
)

func TestCauseOf(t *testing.T) {
	pods, maps := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "configmaps"}
	unreachable := &url.Error{Op: "Post", URL: "https://10.0.0.1/", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name    string
		a, b    error
		differs bool // a and b have different causes
		none    bool // a has no cause
	}{
		{name: "no error", none: true},
		{name: "a script", a: fmt.Errorf("x: %w", &engine.Error{Kind: engine.KindRuntime}), none: true},
		{name: "an object that is not valid", a: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), none: true},
		{name: "another error", a: errors.New("x"), none: true},
		{name: "a webhook", a: &hook.WebhookError{Address: "http://x", Err: unreachable}, b: fmt.Errorf("called: %w", &hook.WebhookError{Address: "http://x", Err: context.DeadlineExceeded})},
		{name: "two webhooks", a: &hook.WebhookError{Address: "http://x"}, b: &hook.WebhookError{Address: "http://y"}, differs: true},
		{name: "a webhook that is busy", a: &hook.RetryAfter{Unspecified: true}, b: &hook.RetryAfter{}},
		{name: "a kind", a: &kube.NotServedError{APIVersion: "x/v1", Name: "A"}, b: kube.Join(fmt.Errorf("create A: %w", &kube.NotServedError{APIVersion: "x/v1", Name: "A"}))},
		{name: "a kind that is gone", a: apierrors.NewNotFound(pods, "a"), b: apierrors.NewNotFound(pods, "b")},
		{name: "two kinds", a: apierrors.NewNotFound(pods, "a"), b: apierrors.NewNotFound(maps, "a"), differs: true},
		{name: "a permission", a: apierrors.NewForbidden(pods, "a", errors.New(`User "x" cannot create it`)), b: apierrors.NewForbidden(pods, "b", errors.New(`User "x" cannot update it`))},
		{name: "a quota", a: apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: q, requested: pods=1, used: pods=3")), b: apierrors.NewForbidden(pods, "b", errors.New("exceeded quota: q, requested: pods=1, used: pods=4"))},
		{name: "a quota and a permission", a: apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: q, requested: pods=1")), b: apierrors.NewForbidden(pods, "b", errors.New(`User "x"`)), differs: true},
		{name: "an admission webhook that is gone", a: apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": dial tcp 1`)), b: apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": dial tcp 2`))},
		{name: "two admission webhooks", a: apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com"`)), b: apierrors.NewInternalError(errors.New(`failed calling webhook "v.example.com"`)), differs: true},
		{name: "an API server without an answer", a: fmt.Errorf("create: %w", unreachable), b: apierrors.NewTimeoutError("x", 1)},
	} {
		a, b := CauseOf(c.a, "x"), CauseOf(c.b, "x")
		switch {
		case c.none != (a == ""):
			t.Errorf("%s: the cause is %q", c.name, a)
		case !c.none && c.differs == (a == b):
			t.Errorf("%s: the causes are %q and %q", c.name, a, b)
		}
	}
	quota := apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: q, requested: pods=1"))
	if CauseOf(quota, "x") == CauseOf(quota, "y") {
		t.Error("quotas of two namespaces are one cause")
	}
}
