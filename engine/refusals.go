package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// refusals remember, by digest, the texts that are not evaluated again: for that, nothing but the text matters, so another
// controller with the same text, or the same one created again, is refused as well. When there are too many, the one that
// was asked for least recently is forgotten.
type refusals struct {
	mu   sync.Mutex
	kept *simplelru.LRU[string, refusal]
}

// maxRefusals bounds how many texts are remembered. Each has cost seconds of a processor's time.
const maxRefusals = 1024

// A refusal says why a text is refused: its compilation timed out, or it had a runaway.
type refusal struct {
	timedOut *Error        // of compiling; nil for a runaway
	within   time.Duration // the timeout that it was compiled with
	runaway  *Runaway
	ran      time.Duration // how long the runaway ran on
}

func newRefusals() *refusals {
	kept, err := simplelru.NewLRU[string, refusal](maxRefusals, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &refusals{kept: kept}
}

// timedOut remembers that a text could not be compiled within l.Timeout.
func (r *refusals) timedOut(digest string, l Limits, fault *Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, ok := r.kept.Peek(digest); ok && before.runaway != nil {
		return
	}
	kept := *fault
	r.kept.Add(digest, refusal{timedOut: &kept, within: l.Timeout})
}

// runaway remembers that a text had a runaway.
func (r *refusals) runaway(one *Runaway, ran time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept.Add(one.Digest, refusal{runaway: one, ran: ran})
}

// check is the error of a task whose text is refused. A compilation that timed out is begun again with more time alone.
func (r *refusals) check(t task) *Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why, ok := r.kept.Get(t.digest)
	switch {
	case !ok:
		return nil
	case why.runaway != nil:
		return &Error{
			Kind: KindTimeout, Pos: Pos{File: t.entry},
			Msg: fmt.Sprintf("refused: %s, did not stop when its time was up and ran on for %s: this text is not run again",
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
