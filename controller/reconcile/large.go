package reconcile

import (
	"errors"
	"time"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/turns"
	"metascript/engine/tree"
)

// plansMemory is the size of the memory for the plans of large answers of all controllers of a server, so that many answers with thousands of
// children are not planned at the same time. A plan has its part from when there is an answer to the end of the reconcile. It is not known how much
// a plan uses: sizeOfPlan estimates it. A larger plan than one sharer can have, with about 14,000 small children, counts as one of that size.
const plansMemory = 128 << 20

// smallAnswer is the estimated size of the plan of an answer that is not large. It has about 300 small children.
const smallAnswer = 1 << 20

// A large is the part of one reconcile. The zero value has none.
type large struct {
	size  int64 // of the plan, as estimated; zero if it is small, or if there is no answer
	held  int64
	waits bool // it got none
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
	r := turns.Request{Asker: c.asker(c.key), Sharer: c.binding.Sharer(), N: min(size, c.shared.plans.Most()), Took: time.Since(c.began)}
	if c.large.waits = !c.shared.plans.Take(r); c.large.waits {
		return kube.Requeue(errLargeAnswers)
	}
	c.large.held = r.N
	return nil
}

// giveBackMemory gives back what takeMemory has taken. A parent that did not ask, since its answer is another one, waits no more.
func (c *reconciliation) giveBackMemory() {
	switch {
	case c.large.held > 0:
		c.shared.plans.GiveBack(c.binding.Sharer(), c.large.held)
		c.large.held = 0
	case !c.large.waits:
		c.shared.plans.Forget(c.asker(c.key))
	}
}

func (r *Reconciler) asker(parent object.Ref) turns.Asker {
	return turns.Asker{Of: r, Parent: parent}
}

// RetryNow implements turns.Reconciler.
func (r *Reconciler) RetryNow(parent object.Ref) { r.queue.Enqueue(parent, queue.Retry) }

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
