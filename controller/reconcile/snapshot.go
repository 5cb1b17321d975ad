package reconcile

import (
	"metascript/controller/build"
	"metascript/controller/throttle"
)

// A Snapshot is what the status of a controller reports of its Reconciler.
type Snapshot struct {
	Filled     bool  // the caches are
	Trouble    error // why the caches are not filled, or not kept up to date
	Parents    int   // that the controller selects
	Held       throttle.Held
	Denied     Denied
	Fallbacks  []build.NamedFallback
	Finalizers HeldFinalizers
	Warnings   []string // of controllers that overlap, and of webhooks that cannot be called
}

// Snapshot returns the state at the moment. It must not be called concurrently.
func (l *Reconciler) Snapshot() Snapshot {
	version, overlap := l.current.Load(), l.Overlap()
	s := Snapshot{
		Filled: l.filled.Load(), Trouble: l.Trouble(), Parents: overlap.Parents, Held: version.Held(), Denied: l.denials.sum(),
		Fallbacks: version.Fallbacks(), Finalizers: l.HeldFinalizers(), Warnings: overlap.Warnings,
	}
	if s.Filled {
		s.Warnings = append(s.Warnings, l.Clients.Problems()...)
	}
	return s
}

// Current is the version that answers now.
func (l *Reconciler) Current() *Version { return l.current.Load() }

// Filled reports whether the caches are filled, and the workers work or stand by.
func (l *Reconciler) Filled() bool { return l.filled.Load() }
