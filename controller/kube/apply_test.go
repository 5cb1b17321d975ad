package kube

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExceedsQuota(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{apierrors.NewForbidden(pods, "p", errors.New("exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3")), true},
		{apierrors.NewForbidden(pods, "p", errors.New("denied by a policy")), false},
		{apierrors.NewBadRequest("exceeded quota"), false},
	} {
		if got := exceedsQuota(c.err); got != c.want {
			t.Errorf("%v: got %t, want %t", c.err, got, c.want)
		}
	}
}
