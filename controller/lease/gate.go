package lease

import "context"

// A Gate is closed until a server leads, and open from then on. A nil Gate is open: there is no election.
type Gate struct{ open chan struct{} }

// NewGate returns a Gate that is closed.
func NewGate() *Gate { return &Gate{make(chan struct{})} }

// Open opens the Gate. It must be called once only.
func (g *Gate) Open() { close(g.open) }

// IsOpen reports whether the Gate is open.
func (g *Gate) IsOpen() bool {
	if g == nil {
		return true
	}
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// Wait waits until the Gate is open. It returns false if ctx is done before.
func (g *Gate) Wait(ctx context.Context) bool {
	if g == nil {
		return true
	}
	select {
	case <-g.open:
		return true
	case <-ctx.Done():
		return false
	}
}
