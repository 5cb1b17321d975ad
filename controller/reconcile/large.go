package reconcile

import (
	"errors"
	"slices"
	"sync"
	"time"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// A planMemory is the memory for the plans of large answers of all controllers of a server, so that many answers with thousands of children
// are not planned at the same time. It does not know how much a plan uses: it counts what sizeOfPlan estimates. A plan has its part from when
// there is an answer to the end of the reconcile. Nobody waits for a part: an answer that gets none is dropped, and the parent is reconciled
// again later. So what waits uses no memory, and is not out of date.
//
// The sharers are tenants, or controllers without one. Those that got no part because of others have their turn in the order in which they
// asked first: what they need stays free for them until they ask again.
type planMemory struct {
	mu      sync.Mutex // guards the fields below
	sum     int64
	held    map[string]int64 // by sharer
	waiting []refused
}

// A refused is a sharer that got no part.
type refused struct {
	sharer string
	size   int64
	until  time.Time // when it has to have asked again
}

// plansMemory is the size of a planMemory in bytes. A sharer can have half of it. A larger plan, with about 14,000 small children, counts as
// one of this size.
const (
	plansMemory  = 128 << 20
	mostOfSharer = plansMemory / 2
)

// smallAnswer is the estimated size of the plan of an answer that is not large. It has about 300 small children.
const smallAnswer = 1 << 20

// take takes a part of n bytes, at most mostOfSharer. It reports false if there is none; then the caller asks again within the time until.
func (p *planMemory) take(sharer string, n int64, until time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.waiting = slices.DeleteFunc(p.waiting, func(r refused) bool { return now.After(r.until) })
	if p.held[sharer]+n > mostOfSharer {
		return false
	}
	turn, before := 0, int64(0)
	for turn < len(p.waiting) && p.waiting[turn].sharer != sharer {
		before += p.waiting[turn].size
		turn++
	}
	if p.sum+before+n > plansMemory {
		if turn == len(p.waiting) {
			p.waiting = append(p.waiting, refused{})
		}
		p.waiting[turn] = refused{sharer, n, now.Add(until)}
		return false
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(r refused) bool { return r.sharer == sharer })
	if p.held == nil {
		p.held = map[string]int64{}
	}
	p.held[sharer] += n
	p.sum += n
	return true
}

func (p *planMemory) giveBack(sharer string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum -= n
	if p.held[sharer] -= n; p.held[sharer] == 0 {
		delete(p.held, sharer)
	}
}

// A large is the part of one reconcile. The zero value has none.
type large struct {
	size int64 // of the plan, as estimated; zero if it is small, or if there is no answer
	held int64
}

// errLargeAnswers is the error of a reconcile whose answer is dropped.
var errLargeAnswers = errors.New("the answer is large, and the plans of other large answers use the memory for them: it is tried again")

// takeMemory takes a part for the plan of an answer, if it is large.
func (c *reconciliation) takeMemory(response *hook.Response) error {
	size := sizeOfPlan(response.Children)
	if size <= smallAnswer {
		return nil
	}
	c.large.size = size
	n := min(size, mostOfSharer)
	if !c.shared.plans.take(c.binding.Sharer(), n, 2*delayOf(size)+maxRequeueDelay) {
		return kube.Requeue(errLargeAnswers)
	}
	c.large.held = n
	return nil
}

// giveBackMemory gives back what takeMemory has taken.
func (c *reconciliation) giveBackMemory() {
	if c.large.held > 0 {
		c.shared.plans.giveBack(c.binding.Sharer(), c.large.held)
		c.large.held = 0
	}
}

// retriedPerSecond is how much of the plans of large answers, in bytes, a parent may cause in a second by retries of a reconcile that fails.
// So an answer with 16,000 children is retried after about 10 seconds at the earliest, since each retry takes about half a second of CPU time.
// It does not depend on the time that a reconcile took, which is longer on a server that is busy.
const retriedPerSecond = 8 << 20

// delayOf returns after which time a reconcile that failed is retried at the earliest, by the size of its plan: at most a minute.
func delayOf(size int64) time.Duration {
	return time.Duration(min(size, 60*retriedPerSecond)) * time.Second / retriedPerSecond
}

// sizeOfPlan estimates how much memory a plan of these children needs, in bytes: there are three copies of each, and what is noted of them.
func sizeOfPlan(children *object.Set) (n int64) {
	const noted = 1 << 10
	for o := range children.All() {
		n += noted + 3*sizeOf(o.Value())
	}
	return n
}

// sizeOf estimates the memory of a value, which is decoded JSON.
func sizeOf(v any) int64 {
	const ofValue, ofMap, ofEntries, ofEntry = 16, 48, 300, 40
	n := int64(ofValue)
	begin := func(entries int) {
		if n += ofMap; entries > 0 {
			n += ofEntries
		}
	}
	entry := func(key string, value any) { n += ofEntry + int64(len(key)) + sizeOf(value) }
	switch v := v.(type) {
	case string:
		n += int64(len(v))
	case map[string]any: // in no order, which tree.Map would have to make
		begin(len(v))
		for key, value := range v {
			entry(key, value)
		}
	case tree.Map:
		begin(v.Len())
		for key, value := range v.All() {
			entry(key, value)
		}
	default:
		if a, is := tree.ArrayOf(v); is {
			for i := range a.Len() {
				n += sizeOf(a.Index(i))
			}
		}
	}
	return n
}
