package reconcile

import (
	"context"
	"errors"

	"metascript/controller/bodies"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// A large is the memory that one reconcile has for the plan of a large answer. All plans of a server share plansMemory, so that many
// controllers with answers of thousands of children do not use it at the same time; tenants have shares of it, see package bodies. Small
// answers need none.
//
// How large an answer is is known when there is one. So the answer is dropped if there is not enough memory, and the next reconcile of the
// parent takes the memory before it calls the hook: what waits has no answer.
type large struct {
	share *bodies.Share
	plans *bodies.Budget
	lease bodies.Lease
	taken int64 // by begin
	more  int64 // what fit has taken in addition
}

// plansMemory is the memory in bytes for the plans of large answers, as large estimates it.
const plansMemory = 128 << 20

// smallAnswer is the estimated size, in bytes, of the plan of an answer that is not large. It has about 300 small children.
const smallAnswer = 1 << 20

// begin takes n bytes, the size of the last plan of the parent, when they are free. The error is that of ctx.
func (l *large) begin(ctx context.Context, n int64) error {
	if n == 0 {
		return nil
	}
	if l.lease.Take(ctx, l.share, n) != nil {
		return ctx.Err() // no lease has memory of plansMemory and waits for more
	}
	l.lease.Shrink(n, n) // all of it is used
	l.taken = n
	return nil
}

// errLargeAnswers is the error of a reconcile whose answer is dropped.
var errLargeAnswers = errors.New("the answer is large, and the plans of other large answers use the memory for them: it is tried again when they have ended")

// fit returns the size of the plan of an answer; zero if it is small. The error says that there is not enough memory for it.
func (l *large) fit(response *hook.Response) (int64, error) {
	size := min(sizeOfPlan(response.Children), l.plans.Size())
	switch more := size - l.taken; {
	case size <= smallAnswer:
		return 0, nil
	case more <= 0:
		return size, nil
	case !l.plans.TryTake(more):
		return size, kube.Requeue(errLargeAnswers)
	default:
		l.more = more
		return size, nil
	}
}

func (l *large) end() {
	l.plans.GiveBack(l.more)
	l.lease.Release()
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
	const ofMap, ofEntry, ofValue = 350, 40, 16
	n := int64(ofValue)
	switch v := v.(type) {
	case string:
		n += int64(len(v))
	case map[string]any: // in no order, which tree.Map would have to make
		n += ofMap
		for key, value := range v {
			n += ofEntry + int64(len(key)) + sizeOf(value)
		}
	case tree.Map:
		n += ofMap
		for key, value := range v.All() {
			n += ofEntry + int64(len(key)) + sizeOf(value)
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
