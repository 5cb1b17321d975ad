package simulation

import (
	"io"
	"slices"
	"sync"
	"time"
)

// An ordered writer writes texts in the order of the simulated time, and those of the same time in alphabetical order: goroutines that run at
// the same simulated time run in any order. A text is written when the time has passed.
type ordered struct {
	to io.Writer

	mu    sync.Mutex // guards the fields below
	at    time.Time
	texts []string // of the time at
}

// Write implements io.Writer. Each call writes one text.
func (o *ordered) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); !now.Equal(o.at) {
		o.flush()
		o.at = now
	}
	o.texts = append(o.texts, string(text))
	return len(text), nil
}

// Flush writes the texts that are not written yet.
func (o *ordered) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
}

// flush is Flush for a caller that holds the lock.
func (o *ordered) flush() {
	slices.Sort(o.texts)
	for _, text := range o.texts {
		_, _ = io.WriteString(o.to, text) // an error, such as a closed terminal, cannot be reported anywhere
	}
	o.texts = nil
}
