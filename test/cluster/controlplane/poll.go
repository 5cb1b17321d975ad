package controlplane

import (
	"context"
	"fmt"
	"time"
)

// pollInterval is short because a start waits for several things in turn, and
// cheap because each question is one small request on the loopback interface.
const pollInterval = 50 * time.Millisecond

// poll asks until done returns nil, ctx ends, or an error arrives on failed,
// which may be nil. After ctx it returns the last answer too.
func poll(ctx context.Context, failed <-chan error, done func(context.Context) error) error {
	var last error
	for {
		answer := done(ctx)
		if answer == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = answer
		}
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%w, last answer: %w", context.Cause(ctx), last)
		case <-time.After(pollInterval):
		}
	}
}
