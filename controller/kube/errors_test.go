package kube

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestForbiddenIsFoundInJoinedErrors(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
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
		"deleted namespace":   {fmt.Errorf("create: %w", going), nil},
	} {
		if got := Forbidden(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
