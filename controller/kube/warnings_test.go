package kube

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestWarningsAreCollectedOnce(t *testing.T) {
	passed := &recorder{}
	handler := WarningHandler{Next: passed}
	ctx, collected := CollectWarnings(t.Context())
	for _, text := range []string{`unknown field "spec.a[0].b"`, "other", "other", ""} {
		handler.HandleWarningHeaderWithContext(ctx, 299, "", text)
	}
	handler.HandleWarningHeaderWithContext(ctx, 199, "", "of a cache")
	handler.HandleWarningHeaderWithContext(t.Context(), 299, "", "of another request")
	if diff := cmp.Diff([]string{`unknown field "spec.a[0].b"`, "other"}, collected.Texts()); diff != "" {
		t.Errorf("collected (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"of another request"}, passed.texts); diff != "" {
		t.Errorf("passed on (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spec.a[0].b"}, UnknownFields(collected.Texts())); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
}

type recorder struct{ texts []string }

var _ rest.WarningHandlerWithContext = &recorder{}

func (r *recorder) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	r.texts = append(r.texts, text)
}

func TestUndeclaredFieldsAreNamed(t *testing.T) {
	refused := errors.New(`failed to create typed patch object (a/p; /v1, Kind=Pod): .spec.containers[name="c"].imagee: field not declared in schema`)
	const want = `the API server does not know spec.containers[name="c"].imagee, is it misspelled? `
	if got := undeclared(refused); got.Error() != want+refused.Error() || !errors.Is(got, refused) {
		t.Errorf("got %v", got)
	}
	if other := errors.New("refused"); undeclared(other) != other {
		t.Errorf("another error becomes %v", undeclared(other))
	}
}
