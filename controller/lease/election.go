package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// An Election decides which of several servers leads: the one that holds a Lease. The others fill their caches and write
// nothing, so that the next leader can begin at once.
type Election struct {
	Namespace, Name string // of the Lease
	Identity        string // of this server; unique
}

// How long a Lease is valid after its last renewal, and how often it is renewed, or read by the servers that do not hold it.
const (
	leaseDuration = 15 * time.Second
	renewPeriod   = 2 * time.Second
)

// RenewDeadline is how long after the last renewal a server writes if it cannot renew its Lease. The rest of the duration of
// the Lease is for writes in flight.
const RenewDeadline = 10 * time.Second

// ErrLost is the cause of the canceled context of a server that lost its Lease. The server ends. A new process has no state
// from before another server led, and the end of a process is visible to users.
var ErrLost = errors.New("the Lease was lost")

// A Candidate takes part in an Election for a server.
type Candidate struct {
	Election
	Config *rest.Config // without the Fence, since the Lease itself is written through it
	Fence  *Fence
	Log    *slog.Logger

	elector atomic.Pointer[leaderelection.LeaderElector] // nil until Run
}

// Healthy returns an error if the server works although its Lease has expired.
func (c *Candidate) Healthy() error {
	if elector := c.elector.Load(); elector != nil {
		return elector.Check(0)
	}
	return nil
}

// Leader returns the identity of the server that leads; "" if it is not known, or if c is nil.
func (c *Candidate) Leader() string {
	if c != nil {
		if elector := c.elector.Load(); elector != nil {
			return elector.GetLeader()
		}
	}
	return ""
}

// Callbacks are the functions that a Candidate calls. Lead and Lose must not block.
type Callbacks struct {
	Lead  func()                          // called once, when the server begins to lead
	Lose  func()                          // called when the server must not write any more, before the context of Serve is canceled
	Serve func(ctx context.Context) error // runs the server until ctx is done
}

// Run calls Serve and takes part in the election, until ctx is done or the Lease is lost. It releases the Lease when no
// write is in flight any more.
func (c *Candidate) Run(ctx context.Context, call Callbacks) error {
	config := rest.CopyConfig(c.Config)
	config.QPS = -1 // a rate limit must not delay a renewal
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, c.Namespace, c.Name,
		resourcelock.ResourceLockConfig{Identity: c.Identity}, config, RenewDeadline)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	log := c.Log.With("lease", lock.Describe(), "identity", lock.Identity())
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lose := func(why error) {
		call.Lose()
		stop(fmt.Errorf("%w: %w", ErrLost, why))
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.Fence.observe(lock, lose), LeaseDuration: leaseDuration, RenewDeadline: RenewDeadline, RetryPeriod: renewPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				log.Info("this server leads")
				call.Lead()
			},
			OnStoppedLeading: func() { lose(fmt.Errorf("it was not renewed for %s", RenewDeadline)) },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	c.elector.Store(elector)
	log.Info("standing by")
	// The Lease is renewed until Serve has returned.
	campaign, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(campaign)
	}()
	err = call.Serve(working)
	why := context.Cause(working)
	released := c.stopWriting()
	end()
	<-ended
	if released == nil {
		released = release(lock)
	}
	if released != nil {
		log.Warn("the Lease was not released; another server leads when it expires", "error", released)
	}
	if errors.Is(why, ErrLost) {
		return fmt.Errorf("lease %s: %w; the server ends, so that it is started again", lock.Describe(), why)
	}
	return err
}

// stopWriting waits until no write is in flight, so that the Lease may be released. Events that wait to be sent are dropped.
func (c *Candidate) stopWriting() error {
	ctx, cancel := context.WithTimeout(context.Background(), renewPeriod)
	defer cancel()
	return c.Fence.close(ctx)
}

// release releases the Lease, if this server holds it.
func release(lock resourcelock.Interface) error {
	ctx, cancel := context.WithTimeout(context.Background(), renewPeriod)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if apierrors.IsNotFound(err) || err == nil && record.HolderIdentity != lock.Identity() {
		return nil
	}
	if err != nil {
		return err
	}
	now := metav1.Now()
	return lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now,
	})
}
