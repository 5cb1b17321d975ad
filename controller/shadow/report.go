package shadow

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/observe"
)

// A Report says what came of comparing the candidate of a controller. It has no values of Secrets.
type Report struct {
	Waiting string // why nothing is compared, although the candidate may load; "" if it is
	Err     error  // why the candidate does not load; nil if it does
	Stopped error  // the last limit that it exceeded, after which it was stopped; nil if it was not
	Source  string // of the candidate; "" if it is not loaded
	Digest  string // of the candidate, "sha256:..."
	Share   int    // percent of the parents
	key     string // of the candidate; see candidate.key
	Counts
	First *Difference // the first one, or nil
	Left  *Left       // why parents are not compared; nil: none is known
}

// Counts are numbers of comparisons.
type Counts struct {
	Parents                        int64 // that exist and were compared
	Total                          int64 // the parents of the share
	Done                           bool  // each of them was compared, or cannot be
	Agree, Differ, Errors, Dropped int64
}

// Comparisons returns how many there were.
func (c Counts) Comparisons() int64 { return c.Agree + c.Differ + c.Errors }

// A Difference is the result of a comparison in which the versions did not agree.
type Difference struct {
	Parent object.Ref
	Result observe.ComparisonResult // Differs or Failed
	Text   string                   // what differs, and what would be written; or the error of the candidate
}

// maxParents is how many parents are known by their UIDs. Others are neither counted, nor compared unless they are reconciled.
const maxParents = 100_000

// A tally counts the comparisons of one candidate.
type tally struct {
	Counts
	first   *Difference
	parents map[types.UID]bool
}

func newTally() *tally { return &tally{parents: map[types.UID]bool{}} }

// note counts a comparison.
func (t *tally) note(c *observe.Comparison) {
	switch c.Result {
	case observe.Agrees:
		t.Agree++
	case observe.Differs:
		t.Differ++
	case observe.Failed:
		t.Errors++
	case observe.Dropped:
		t.Dropped++
		return
	}
	if len(t.parents) < maxParents && !t.parents[c.UID] {
		t.parents[c.UID] = true
		t.Parents++
	}
	if c.Result != observe.Agrees && t.first == nil {
		t.first = &Difference{c.Parent.Clone(), c.Result, text(c)}
	}
}

// How often counts are published, since each time is a write of the status: at once if one of them begins, soon if there are twice as many,
// and otherwise with this period.
const (
	publishEvery = 15 * time.Second
	publishSoon  = time.Second
)

// isDue reports whether counts should be published that have changed since before was published.
func isDue(before, now Counts, since time.Duration) bool {
	switch {
	case before == now:
		return false
	case before.Done != now.Done, begins(before.Agree, now.Agree), begins(before.Differ, now.Differ), begins(before.Errors, now.Errors), begins(before.Dropped, now.Dropped):
		return true
	case now.Comparisons() >= 2*before.Comparisons() && now.Comparisons() > before.Comparisons():
		return since >= publishSoon
	}
	return since >= publishEvery
}

func begins(before, now int64) bool { return before == 0 && now > 0 }
