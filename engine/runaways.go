package engine

import (
	"sync"
	"sync/atomic"
)

// runaways counts the abandoned evaluations that still run, by the script's digest.
type runaways struct {
	mu sync.Mutex
	of map[string]int
}

// abandon counts an attempt until it ends. It reports false when the attempt has ended already.
func (r *runaways) abandon(digest string, state *atomic.Pointer[func()]) bool {
	r.add(digest, 1)
	forget := func() { r.add(digest, -1) }
	if !state.CompareAndSwap(nil, &forget) {
		forget()
		return false
	}
	return true
}

func (r *runaways) add(digest string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[digest] += n; r.of[digest] == 0 {
		delete(r.of, digest)
	}
}

func (r *runaways) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, k := range r.of {
		n += k
	}
	return n
}

// check refuses a task of a script that has a runaway.
func (r *runaways) check(t task) *Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[t.digest] == 0 {
		return nil
	}
	return &Error{
		Kind: KindTimeout, Pos: Pos{File: t.entry},
		Msg:  "refused: an earlier call is still running although its time was up",
		Hint: "look for an operation on very large values in the script; it can run again once that call has ended",
	}
}
