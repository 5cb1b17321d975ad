package controlplane

import (
	"context"
	"errors"
	"testing"
)

func TestPollReturnsTheRelevantError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	// cause is the cause of ctx. The other errors are what done returns before
	// and after ctx is canceled.
	before, after, cause := errors.New("refused"), errors.New("canceled"), errors.New("timeout")
	results := []error{before, after}
	err := poll(ctx, nil, func(context.Context) error {
		result := results[0]
		if results = results[1:]; len(results) == 0 {
			cancel(cause)
		}
		return result
	})
	if !errors.Is(err, cause) || !errors.Is(err, before) || errors.Is(err, after) {
		t.Error(err)
	}
}

func TestPollEndsWithAFailure(t *testing.T) {
	failed := make(chan error, 1)
	failure := errors.New("failure")
	failed <- failure
	err := poll(t.Context(), failed, func(context.Context) error { return errors.New("not yet") })
	if err != failure {
		t.Error(err)
	}
}
