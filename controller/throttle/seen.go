package throttle

import "sync"

// Seen remembers texts, so that each is reported once. The zero value has seen none. It is safe for concurrent use.
type Seen struct{ texts sync.Map }

// First reports whether it is called with this text for the first time.
func (s *Seen) First(text string) bool {
	_, seen := s.texts.LoadOrStore(text, true)
	return !seen
}
