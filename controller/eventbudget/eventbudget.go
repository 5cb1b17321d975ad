// Package eventbudget decides which events about objects are recorded, so that a controller that always fails does not overload the API
// server, and a new kind of error is seen nevertheless. [Budgets] has the budget of each object.
package eventbudget

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
)

// The limits of memory: when there are more, those that were not used for the longest time begin anew.
const (
	maxObjects = 4096 // as in client-go
	maxReasons = 64   // of one object; our own reasons are fewer
	maxTexts   = 32   // of one object
)

// Budgets limits the events about each object to a number in a burst, and then to a rate. There are two exceptions:
//
//   - An event always passes if no event with its reason about the object has passed before, or none for as long as the rate takes for one
//     event. So a reason is not hidden by events with other reasons.
//   - Events whose text has passed before leave a fifth of the burst to others. So a new error is not hidden by one that repeats.
//
// The reasons are constants of this program: whoever chooses a reason freely could have each event pass. It is safe for concurrent use.
type Budgets struct {
	qps   rate.Limit
	burst int
	seed  maphash.Seed

	mu       sync.Mutex // guards the field below
	byObject *simplelru.LRU[key, *budget]
}

// A key is an object. Another object of the same name has a budget of its own.
type key struct {
	object.Ref
	uid types.UID
}

// A budget is that of one object.
type budget struct {
	limiter *rate.Limiter
	passed  map[string]time.Time // the last event that has passed, by reason
	texts   []uint64             // hashes of the last texts that have passed, the oldest first
}

// New returns Budgets of burst events about an object, and then of qps in a second.
func New(qps float32, burst int) *Budgets {
	byObject, err := simplelru.NewLRU[key, *budget](maxObjects, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Budgets{qps: rate.Limit(qps), burst: burst, seed: maphash.MakeSeed(), byObject: byObject}
}

// Take reports whether an event about o passes, and counts it if it does.
func (b *Budgets) Take(o *object.Object, reason, text string) bool {
	hash := maphash.String(b.seed, reason+"\x00"+text)
	b.mu.Lock()
	defer b.mu.Unlock()
	of, now := b.of(o), time.Now()
	last, found := of.passed[reason]
	first := !found || now.Sub(last).Seconds() >= 1/float64(b.qps)
	repeats := slices.Contains(of.texts, hash)
	if !first && repeats && of.limiter.TokensAt(now) < float64(1+b.burst/5) {
		return false
	}
	if !of.limiter.AllowN(now, 1) && !first {
		return false
	}
	of.note(reason, hash, repeats, now)
	return true
}

// of returns the budget of an object. It creates it if there is none.
func (b *Budgets) of(o *object.Object) *budget {
	of, found := b.byObject.Get(key{object.RefOf(o), o.GetUID()})
	if !found {
		of = &budget{limiter: rate.NewLimiter(b.qps, b.burst), passed: map[string]time.Time{}}
		b.byObject.Add(key{object.RefOf(o).Clone(), object.UIDOf(o)}, of)
	}
	return of
}

// note remembers an event that has passed.
func (of *budget) note(reason string, hash uint64, repeats bool, now time.Time) {
	if _, found := of.passed[reason]; !found && len(of.passed) == maxReasons {
		clear(of.passed)
	}
	of.passed[reason] = now
	if repeats {
		return
	}
	if len(of.texts) == maxTexts {
		of.texts = slices.Delete(of.texts, 0, 1)
	}
	of.texts = append(of.texts, hash)
}
