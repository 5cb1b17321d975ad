package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/engine"
)

func TestForbiddenIsFoundInJoinedErrors(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New(`User "u" cannot create resource "configmaps" in API group ""`))
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("exceeded quota: few"))
	owner := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"))
	ours := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "service account a/b may not list pods"}}
	going := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("going"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"none":                {nil, nil},
		"another":             {errors.New("x"), nil},
		"itself":              {denied, denied},
		"wrapped, and joined": {errors.Join(errors.New("x"), fmt.Errorf("create: %w", denied)), denied},
		"after a conflict":    {errors.Join(apierrors.NewConflict(schema.GroupResource{}, "b", nil), denied), denied},
		"an owner reference":  {owner, owner},
		"an exceeded quota":   {fmt.Errorf("create: %w", quota), nil},
		"a webhook":           {apierrors.NewGenericServerResponse(403, "", schema.GroupResource{}, "", `admission webhook "w" denied the request: no`, 0, true), nil},
		"our own":             {ours, ours},
		"deleted namespace":   {fmt.Errorf("create: %w", going), nil},
	} {
		if got := Forbidden(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestErrorsWithOneCauseAreJoined(t *testing.T) {
	cause := errors.New("the server could not find the requested resource")
	at := func(line int, err error) error {
		return &engine.Located{Pos: engine.Pos{File: "sync.star", Line: line, Col: 3}, Err: err}
	}
	got := Join(at(2, fmt.Errorf("create Pod a: %w", cause)), at(4, fmt.Errorf("create Pod b: %w", cause)), fmt.Errorf("create Job c: %w", cause), at(5, errors.New("create Job d: no")))
	want := "sync.star:2:3: create Pod a and 2 more: the server could not find the requested resource\nsync.star:5:3: create Job d: no"
	if got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
}

func TestRefusedNamesField(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", field.ErrorList{field.Required(field.NewPath("spec", "containers").Index(0).Child("image"), "")})
	for name, c := range map[string]struct {
		err     error
		field   string
		refused bool
	}{
		"invalid":              {fmt.Errorf("create Pod a: %w", invalid), "spec.containers[0].image", true},
		"it names no field":    {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), "", true},
		"it cannot be decoded": {apierrors.NewBadRequest("json: cannot unmarshal string"), "", true},
		"a field that server-side apply does not know": {undeclared(apierrors.NewInternalError(errors.New("failed to create typed patch object: .spec.imagee: field not declared in schema"))), "spec.imagee", true},

		"a permission":          {apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no")), "", false},
		"not of the API server": {errors.New("x"), "", false},
		"none":                  {nil, "", false},
	} {
		if field, refused := Refused(c.err); field != c.field || refused != c.refused {
			t.Errorf("%s: got %q, %t", name, field, refused)
		}
	}
}

func TestManyErrorsAreCounted(t *testing.T) {
	var failed []error
	for i := range 1000 {
		failed = append(failed, fmt.Errorf("create Pod %d: no", i))
	}
	if got := strings.Split(Join(failed...).Error(), "\n"); len(got) != maxJoined+1 || got[0] != "create Pod 0: no" || got[maxJoined] != "and 980 more errors" {
		t.Errorf("%d lines: %q", len(got), got)
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New(`User "a" cannot create resource "pods"`))
	failed[500] = fmt.Errorf("create Pod 500: %w", denied)
	if Forbidden(Join(failed...)) == nil {
		t.Error("what the API server denied is not among the errors")
	}
}
