package controlplane

import (
	"context"
	"fmt"
	"time"
)

// pollInterval is short because a start waits for several components, one after
// the other. Each call is only one small request to 127.0.0.1.
const pollInterval = 50 * time.Millisecond

// poll calls done until done returns nil, ctx is done, or failed has an error.
// failed may be nil. If ctx is done, poll returns the cause of ctx together with
// the last error that done returned before that.
func poll(ctx context.Context, failed <-chan error, done func(context.Context) error) error {
	var last error
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%w, last error: %w", context.Cause(ctx), last)
		case <-time.After(pollInterval):
		}
	}
}
