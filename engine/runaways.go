package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Runaway is an evaluation that was abandoned and still runs, since it cannot be stopped. It uses a CPU until it ends by
// itself or the process ends.
type Runaway struct {
	Tenant    string    // the tenant of Owner
	Owner     string    // the owner of the evaluation
	Entry     string    // the path of the script's entry file
	Digest    string    // the digest of the script
	Compiling bool      // it compiles the script; otherwise it is a call
	Since     time.Time // when it was abandoned
}

// String returns what still runs, and since when.
func (r Runaway) String() string {
	doing := "a call of"
	if r.Compiling {
		doing = "compiling"
	}
	return fmt.Sprintf("%s %s, given up at %s", doing, r.Entry, r.Since.UTC().Format(time.RFC3339))
}

// text identifies the text of the script.
func (r *Runaway) text() textKey { return textKey{r.Tenant, r.Digest} }

// runaways are the evaluations that were abandoned and still run.
type runaways struct {
	refused *refusals // the texts of runaways that ran for long

	mu    sync.Mutex // guards the fields below; the lock of refused may be taken while it is locked
	all   map[*Runaway]bool
	total int64 // how many there have been since the start
}

// runawayAfter is how long a runaway may run before its text is refused permanently. One that ends sooner was only late,
// perhaps because the machine was busy.
const runawayAfter = 10 * time.Second

// abandon adds an attempt of t to the runaways until it ends. It returns false if the attempt has ended already.
func (r *runaways) abandon(t task, state *atomic.Pointer[func()]) bool {
	runaway := &Runaway{
		Tenant: t.owner.tenant, Owner: t.owner.name, Entry: t.entry, Digest: t.digest, Compiling: t.kind == KindSyntax, Since: time.Now(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	onEnd := func() { r.ended(runaway) }
	if !state.CompareAndSwap(nil, &onEnd) {
		return false
	}
	r.all[runaway] = true
	r.total++
	return true
}

// ended removes a runaway, and refuses its text if it ran for long.
func (r *runaways) ended(runaway *Runaway) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, runaway)
	if ran := time.Since(runaway.Since); ran >= runawayAfter {
		r.refused.runaway(runaway, ran)
	}
}

// list returns the current runaways, the oldest first, and the total since the start.
func (r *runaways) list() ([]Runaway, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Runaway, 0, len(r.all))
	for runaway := range r.all {
		all = append(all, *runaway)
	}
	slices.SortFunc(all, func(a, b Runaway) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Digest, b.Digest)) })
	return all, r.total
}

// check returns an error if the text of t is refused: it has a runaway, or refusals has an entry for it. Otherwise it returns nil.
func (r *runaways) check(t task) *Error {
	if fault := r.refused.check(t); fault != nil {
		return fault
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for runaway := range r.all {
		if runaway.text() == t.text() {
			return &Error{
				Kind: KindTimeout, Pos: Pos{File: t.entry},
				Msg:  fmt.Sprintf("refused: an earlier call is still running after its timeout (%s)", runaway),
				Hint: "edit the script: look for an operation on very large values; to end the earlier call, restart the server",
			}
		}
	}
	return nil
}
