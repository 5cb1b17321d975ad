package parents

import (
	"sync"

	"metascript/controller/object"
)

// Kinds are what the definitions of the kinds of parents lack. The reconciles of all parents of a controller use it. The zero value is
// empty, and it is safe for concurrent use.
type Kinds struct {
	mu                     sync.Mutex           // guards the fields below
	withoutTransitionTimes map[object.Kind]bool // the kinds whose schema has no lastTransitionTime
	withoutStatus          map[object.Kind]bool // the kinds that have lost their status subresource
}

// LacksStatus reports whether a kind has lost its status subresource.
func (k *Kinds) LacksStatus(kind object.Kind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.withoutStatus[kind]
}

// LacksTransitionTimes reports whether the schema of a kind is known to have no lastTransitionTime.
func (k *Kinds) LacksTransitionTimes(kind object.Kind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.withoutTransitionTimes[kind]
}

func (k *Kinds) noteWithoutStatus(kind object.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.withoutStatus == nil {
		k.withoutStatus = map[object.Kind]bool{}
	}
	k.withoutStatus[kind] = true
}

func (k *Kinds) noteWithoutTransitionTimes(kind object.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.withoutTransitionTimes == nil {
		k.withoutTransitionTimes = map[object.Kind]bool{}
	}
	k.withoutTransitionTimes[kind] = true
}

// Redefine forgets all kinds, since definitions have changed. Parents of kinds without a status subresource have to be reconciled, so
// that it is called after LacksStatus was asked about them.
func (k *Kinds) Redefine() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.withoutTransitionTimes)
	clear(k.withoutStatus)
}
