package throttle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// A write that was done ContentionAllowed times, each time with the same content and no more than ContentionForgotten after
// the one before, will not help when it is done once more: the API server, or somebody else, changes the object each time.
const (
	ContentionAllowed   = 5
	ContentionForgotten = 10 * time.Minute
)

// contentionBackoff is how long such a write is delayed from then on.
var contentionBackoff = backoff{10 * time.Second, 5 * time.Minute}

// ContentionText is the last sentence of each report of a Contention.
var ContentionText = fmt.Sprintf("Until then the same write is delayed, at first by %s, and later by up to %s",
	duration.HumanDuration(contentionBackoff.first), duration.HumanDuration(contentionBackoff.last))

// A Contention counts writes of one object with the same content. The zero value has counted none. It is not safe for
// concurrent use.
type Contention struct {
	writes   int
	last     time.Time // the last write
	reported int       // how many writes there were when Delay reported last
	delays   int       // how often a delay was imposed
	until    time.Time // no write before
}

// Delay returns how long the next write has to wait, zero for not at all, and whether that is to be reported: it is once for
// each write.
func (c *Contention) Delay(now time.Time) (wait time.Duration, report bool) {
	if c.writes >= ContentionAllowed && c.writes > c.reported {
		c.until = now.Add(contentionBackoff.after(c.delays))
		c.delays++
		c.reported, report = c.writes, true
	}
	return max(c.until.Sub(now), 0), report
}

// Count counts a write.
func (c *Contention) Count(now time.Time) { c.writes, c.last = c.writes+1, now }

// Writes is how many writes were counted.
func (c *Contention) Writes() int { return c.writes }

// Forgotten reports whether the last write was so long ago that it does not count any more.
func (c *Contention) Forgotten(now time.Time) bool { return now.Sub(c.last) > ContentionForgotten }

// Repeats reports whether the same write was done more than once, the last time not long ago. A nil Contention has counted none.
func (c *Contention) Repeats(now time.Time) bool {
	return c != nil && c.writes > 1 && !c.Forgotten(now)
}
