package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// refusals remember the texts that are not evaluated again. Within a tenant only the text matters: another controller with the
// same text, or the same controller created again, is refused too. The same text of another tenant is not refused. If there are
// too many, the one that was used least recently is removed.
type refusals struct {
	mu      sync.Mutex // guards entries
	entries *simplelru.LRU[textKey, refusal]
}

// maxRefusals is how many texts are remembered. Each has used seconds of CPU time.
const maxRefusals = 1024

// A refusal says why a text is refused: its compilation timed out, or it had a runaway.
type refusal struct {
	timedOut *Error        // of the compilation; nil for a runaway
	within   time.Duration // the timeout of that compilation
	runaway  *Runaway      // nil for a compilation that timed out
	ran      time.Duration // how long the runaway ran after its timeout
}

func newRefusals() *refusals {
	entries, err := simplelru.NewLRU[textKey, refusal](maxRefusals, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &refusals{entries: entries}
}

// timedOut records that a text could not be compiled within l.Timeout.
func (r *refusals) timedOut(text textKey, l Limits, fault *Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, ok := r.entries.Peek(text); ok && before.runaway != nil {
		return
	}
	clone := *fault
	r.entries.Add(text, refusal{timedOut: &clone, within: l.Timeout})
}

// runaway records that a text had a runaway.
func (r *refusals) runaway(evaluation *Runaway, ran time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries.Add(evaluation.text(), refusal{runaway: evaluation, ran: ran})
}

// check returns the error of a task whose text is refused. After a compilation that timed out, only one with a longer timeout
// is allowed.
func (r *refusals) check(t task) *Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why, ok := r.entries.Get(t.text())
	switch {
	case !ok:
		return nil
	case why.runaway != nil:
		return &Error{
			Kind: KindTimeout, Pos: Pos{File: t.entry},
			Msg: fmt.Sprintf("refused: %s, did not stop at its timeout and ran for %s after it: this text is not run again",
				why.runaway, why.ran.Round(time.Second)),
			Hint: "edit the script: look for an operation on very large values; the same text runs again after a restart of the server",
		}
	case t.kind != KindSyntax || t.limits.Timeout > why.within:
		return nil
	}
	fault := *why.timedOut
	fault.Msg += ": the same text is not compiled again"
	fault.Hint = "edit the script or restart the server, or raise timeout"
	return &fault
}
