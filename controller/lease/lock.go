package lease

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// observe returns a lock that sends its requests through lock, and records renewals in the Fence. If the Lease has another
// holder, no write begins any more, and lost is called once with the reason.
func (f *Fence) observe(lock resourcelock.Interface, lost func(error)) resourcelock.Interface {
	return &observed{Interface: lock, fence: f, lost: lost}
}

type observed struct {
	resourcelock.Interface
	fence *Fence
	lost  func(error)
}

// Get implements resourcelock.Interface.
func (o *observed) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := o.Interface.Get(ctx)
	if err == nil && o.fence.holds() && record.HolderIdentity != o.Identity() {
		why := fmt.Errorf("its holder is %q, no longer %q", record.HolderIdentity, o.Identity())
		if o.fence.shut(fmt.Errorf("not sent: the Lease was lost: %w", why)) {
			o.lost(why)
		}
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (o *observed) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return o.write(ctx, record, o.Interface.Create)
}

// Update implements resourcelock.Interface.
func (o *observed) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return o.write(ctx, record, o.Interface.Update)
}

// write records a renewal with the time at which the request was sent, since the Lease may be valid from any moment after
// that.
func (o *observed) write(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	sent := o.fence.now()
	err := send(ctx, record)
	if err == nil && record.HolderIdentity == o.Identity() {
		o.fence.renew(sent)
	}
	return err
}
