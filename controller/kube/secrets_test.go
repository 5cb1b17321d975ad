package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/object"
)

func TestErrorsAboutASecretDoNotTellIt(t *testing.T) {
	secret := &object.Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"a": "hush-hush"},
	}}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data"), "hush-hush", "no base64")})
	for name, err := range map[string]error{"invalid": invalid, "wrapped": fmt.Errorf("x: %w", invalid), "another": errors.New("bad hush-hush")} {
		got := hush(err, secret)
		text := fmt.Sprintf("%v %+v %#v", got, got, got)
		var status apierrors.APIStatus
		if errors.As(got, &status) {
			said := status.Status()
			text += said.String()
		}
		if strings.Contains(text, "hush-hush") || apierrors.IsInvalid(got) != apierrors.IsInvalid(err) {
			t.Errorf("%s: got %s", name, text)
		}
	}
	secret.SetKind("ConfigMap")
	if got := hush(invalid, secret); got != error(invalid) {
		t.Errorf("an error about something else: got %v", got)
	}
	if hush(nil, secret) != nil {
		t.Error("no error became one")
	}
}
