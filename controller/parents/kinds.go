package parents

import (
	"sync"

	"metascript/controller/object"
)

// Kinds are what the definitions of the kinds of parents lack. The reconciles of all parents of a controller use it. The zero value is
// empty, and it is safe for concurrent use.
type Kinds struct {
	withoutTransitionTimes kindSet // the kinds whose schema has no lastTransitionTime
	withoutStatus          kindSet // the kinds that have lost their status subresource
}

// LacksStatus reports whether a kind has lost its status subresource.
func (k *Kinds) LacksStatus(kind object.Kind) bool { return k.withoutStatus.has(kind) }

// LacksTransitionTimes reports whether the schema of a kind is known to have no lastTransitionTime.
func (k *Kinds) LacksTransitionTimes(kind object.Kind) bool {
	return k.withoutTransitionTimes.has(kind)
}

// Redefine forgets all kinds, since definitions have changed. Parents of kinds without a status subresource have to be reconciled, so
// that it is called after LacksStatus was asked about them.
func (k *Kinds) Redefine() {
	k.withoutTransitionTimes.clear()
	k.withoutStatus.clear()
}

// A kindSet is a set of kinds that is safe for concurrent use. The zero value is empty.
type kindSet struct {
	mu    sync.Mutex // guards kinds
	kinds map[object.Kind]bool
}

func (s *kindSet) has(kind object.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[kind]
}

func (s *kindSet) add(kind object.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[object.Kind]bool{}
	}
	s.kinds[kind] = true
}

func (s *kindSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.kinds)
}
