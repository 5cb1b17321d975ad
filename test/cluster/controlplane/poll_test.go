package controlplane

import (
	"context"
	"errors"
	"testing"
)

func TestPollReturnsTheRelevantError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	refused, cut, late := errors.New("refused"), errors.New("cut short"), errors.New("too late")
	answers := []error{refused, cut}
	err := poll(ctx, nil, func(context.Context) error {
		answer := answers[0]
		if answers = answers[1:]; len(answers) == 0 {
			cancel(late)
		}
		return answer
	})
	if !errors.Is(err, late) || !errors.Is(err, refused) || errors.Is(err, cut) {
		t.Error(err)
	}
}

func TestPollEndsWithAFailure(t *testing.T) {
	failed := make(chan error, 1)
	broken := errors.New("broken")
	failed <- broken
	err := poll(t.Context(), failed, func(context.Context) error { return errors.New("not yet") })
	if err != broken {
		t.Error(err)
	}
}
