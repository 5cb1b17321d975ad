package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// An Election is how servers that run side by side agree on the one that works: it holds a Lease. The others stand by
// with their caches filled and write nothing, so that the next one begins at once.
type Election struct {
	Namespace, Name string // of the Lease
	Identity        string // of this server; no other has it
}

// How long a Lease is good for after its holder is gone, how long a holder that cannot renew it works on, and how often
// it is renewed or asked for. The difference of the first two is for what is under way to end in.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	renewPeriod   = 2 * time.Second
)

// errLostLease ends a server. The next one begins with nothing remembered of a time when another may have worked, and
// a program that ends is easily seen.
var errLostLease = errors.New("the Lease was lost")

// leads reports whether this server is the one that works.
func (s *Server) leads() bool {
	select {
	case <-s.leading:
		return true
	default:
		return false
	}
}

// lead lets what stands by begin. It is called once.
func (s *Server) lead() {
	s.events.Mute(false)
	close(s.leading)
}

// tellAll has every controller looked at again once the server leads, so that their status tells what came of them.
func (s *Server) tellAll(ctx context.Context) {
	select {
	case <-s.leading:
	case <-ctx.Done():
		return
	}
	for _, controllers := range s.controllers {
		for _, o := range controllers.List() {
			s.queue.Add(idOf(o))
		}
	}
}

// runElected runs the server, which works while it holds the Lease, until ctx is done or the Lease is lost. It gives
// the Lease back when nothing is under way any more.
func (s *Server) runElected(ctx context.Context) error {
	config := rest.CopyConfig(s.unfenced)
	config.QPS = -1 // a limit must not cost the Lease
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, s.Election.Namespace, s.Election.Name,
		resourcelock.ResourceLockConfig{Identity: s.Election.Identity}, config, renewDeadline)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	log := s.Log.With("lease", lock.Describe(), "identity", lock.Identity())
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lose := func(why error) {
		s.events.Mute(true)
		stop(fmt.Errorf("%w: %w", errLostLease, why))
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: s.fence.Observe(lock, lose), LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				log.Info("this server leads")
				s.lead()
			},
			OnStoppedLeading: func() { lose(fmt.Errorf("it was not renewed for %s", renewDeadline)) },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	s.elector.Store(elector)
	log.Info("standing by")
	// The Lease is renewed for as long as anything is under way.
	campaign, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(campaign)
	}()
	err = s.run(working)
	why := context.Cause(working)
	released := s.stopWriting()
	end()
	<-ended
	if released == nil {
		released = giveBack(lock)
	}
	if released != nil {
		log.Warn("the Lease was not released; another server leads when it expires", "error", released)
	}
	if errors.Is(why, errLostLease) {
		return fmt.Errorf("lease %s: %w; the server ends, to be started again", lock.Describe(), why)
	}
	return err
}

// stopWriting returns when no write is in flight, so that the Lease may be released. Events that wait to be sent are
// dropped.
func (s *Server) stopWriting() error {
	ctx, cancel := context.WithTimeout(context.Background(), renewPeriod)
	defer cancel()
	return s.fence.Close(ctx)
}

// giveBack releases the Lease, if it is held.
func giveBack(lock resourcelock.Interface) error {
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

// awaitTurn waits until the server leads; it reports whether it does, or else ctx is done.
func (l *loop) awaitTurn(ctx context.Context) bool {
	if l.leading == nil {
		return true
	}
	select {
	case <-l.leading:
		return true
	case <-ctx.Done():
		return false
	}
}

// leads reports whether the workers may work.
func (l *loop) leads() bool {
	if l.leading == nil {
		return true
	}
	select {
	case <-l.leading:
		return true
	default:
		return false
	}
}

// graceAfter is how long what is under way may go on when ctx is done: not at all when another server may work.
func graceAfter(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), errLostLease) {
		return 0
	}
	return grace
}
