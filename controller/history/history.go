// Package history keeps what the last reconciles of each parent did, so that a user can be told why an object is as it is.
//
// A [History] is an [observe.Sink]. It has a budget in bytes for the whole server. When the budget is used up, the oldest reconciles of
// all parents are dropped first, whichever parents they belong to. An [Entry] is kept as JSON, so that no object of a cache stays in
// memory because of it, and without the values of Secrets that the reconcile has seen.
//
// Reconciles in a row that need not be done, because nothing changed, are one entry with their number. What is known of a parent stays
// after it was deleted, until it is dropped as the oldest.
//
// A History is also an [observe.ComparisonSink]: the comparison with a candidate in spec.shadow comes some time after its reconcile.
package history

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/remember"
	"metascript/controller/spec"
)

// PerParent is how many entries are kept of one parent of one controller.
const PerParent = 50

// What an entry and a parent cost in addition to the texts: structs, map entries and the unused ends of blocks of memory.
const (
	entryCost  = 288
	parentCost = 480
)

// A History has the last reconciles of all parents. It is safe for concurrent use. A nil History keeps nothing.
type History struct {
	budget int

	// mu guards the fields below. Entries are encoded and decoded without it.
	mu      sync.Mutex
	used    int
	parents map[name][]*timeline // one for each controller
	oldest  *record              // the first of the list of all records, by the time of their last change
	newest  *record
}

// A name identifies a parent, whichever version of its kind a controller uses.
type name struct {
	schema.GroupKind
	object.Key
}

func nameOf(ref object.Ref) name { return name{ref.Kind.GroupKind(), ref.Key} }

// A timeline has the records of one parent of one controller, the oldest first.
type timeline struct {
	of         name
	controller spec.ID
	records    []*record
}

// A record is one entry. It is in the timeline of its parent, and in the list of all records.
type record struct {
	of             *timeline
	text           []byte // an Entry; nil for reconciles that need not be done, of which rested is set
	identity       identity
	candidate      []byte // the Candidate of the entry; nil: there is none
	rested         rested
	older, younger *record
}

// An identity is that of the reconcile of an entry, to find the one that a comparison is about.
type identity struct {
	uid    types.UID // of the parent
	began  time.Time
	script string // the digest of the scripts
}

// isOf reports whether a comparison is about the reconcile.
func (i *identity) isOf(c *observe.Comparison) bool {
	return i.uid == c.UID && !i.began.IsZero() && (c.Began.Equal(i.began) || c.Began.IsZero() && i.script == c.Live)
}

// rested are reconciles in a row that need not be done.
type rested struct {
	why         queue.Reason // of all
	source      remember.Source
	count       int
	first, last time.Time
}

func (r *record) cost() int { return entryCost + cap(r.text) + cap(r.candidate) }

// New returns a History that uses about budget bytes at most. If that is zero or less, it returns nil.
func New(budget int64) *History {
	if budget <= 0 {
		return nil
	}
	return &History{budget: int(budget), parents: map[name][]*timeline{}}
}

// spaces are buffers in which entries are encoded. An Entry has limits, so that none becomes large.
var spaces = sync.Pool{New: func() any { return new([]byte) }}

// Reconciled implements observe.Sink.
func (h *History) Reconciled(r *observe.Reconcile) {
	space := spaces.Get().(*[]byte)
	*space = appendEntry((*space)[:0], entryOf(r))
	text := slices.Clone(*space)
	spaces.Put(space)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(h.timeline(r.About), &record{text: text, identity: identity{types.UID(strings.Clone(string(r.UID))), r.Began, r.Script}})
}

// Compared implements observe.ComparisonSink. The comparison becomes part of the entry of its reconcile. One without a reconcile becomes
// part of the entry of the last reconcile by the script that runs. If there is no such entry, or not any more, the comparison is dropped.
func (h *History) Compared(c *observe.Comparison) {
	text, err := json.Marshal(candidateOf(c))
	if err != nil {
		return // not reached: it has texts and numbers
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.parents[nameOf(c.Parent)] {
		if t.controller != (spec.ID{Kind: c.Kind, Name: c.Controller}) {
			continue
		}
		for _, r := range slices.Backward(t.records) {
			if r.identity.isOf(c) {
				h.used -= r.cost()
				r.candidate = text
				h.used += r.cost()
				h.limit()
				return
			}
		}
	}
}

// Remembered implements observe.Sink.
func (h *History) Remembered(about observe.About, why queue.Reason, source remember.Source) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.timeline(about)
	if n := len(t.records); n > 0 && t.records[n-1].text == nil && t.records[n-1].rested.source == source {
		last := t.records[n-1]
		last.rested.why |= why
		last.rested.count++
		last.rested.last = now
		h.unlink(last)
		h.link(last)
		return
	}
	h.add(t, &record{rested: rested{why, source, 1, now, now}})
}

// timeline returns the timeline of a parent. It makes one if there is none.
func (h *History) timeline(about observe.About) *timeline {
	of, controller := nameOf(about.Parent), spec.ID{Kind: about.Kind, Name: about.Controller}
	for _, t := range h.parents[of] {
		if t.controller == controller {
			return t
		}
	}
	of = nameOf(about.Parent.Clone())
	t := &timeline{of: of, controller: spec.ID{Kind: strings.Clone(about.Kind), Name: strings.Clone(about.Controller)}}
	h.parents[of] = append(h.parents[of], t)
	h.used += parentCost
	return t
}

// add adds a record, and drops the oldest ones until the budget suffices.
func (h *History) add(t *timeline, r *record) {
	r.of = t
	t.records = append(t.records, r)
	h.used += r.cost()
	h.link(r)
	if len(t.records) > PerParent {
		h.drop(t.records[0])
	}
	h.limit()
}

// limit drops the oldest records until the budget suffices.
func (h *History) limit() {
	for h.used > h.budget && h.oldest != nil {
		h.drop(h.oldest)
	}
}

// drop drops a record, which is the oldest of its timeline.
func (h *History) drop(r *record) {
	h.unlink(r)
	h.used -= r.cost()
	t := r.of
	t.records[0] = nil
	t.records = t.records[1:]
	if len(t.records) > 0 {
		return
	}
	h.used -= parentCost
	rest := slices.DeleteFunc(h.parents[t.of], func(other *timeline) bool { return other == t })
	if h.parents[t.of] = rest; len(rest) == 0 {
		delete(h.parents, t.of)
	}
}

// link adds a record at the end of the list of all records.
func (h *History) link(r *record) {
	r.older, r.younger = h.newest, nil
	if h.newest == nil {
		h.oldest = r
	} else {
		h.newest.younger = r
	}
	h.newest = r
}

// unlink removes a record from the list of all records.
func (h *History) unlink(r *record) {
	if r.older == nil {
		h.oldest = r.younger
	} else {
		r.older.younger = r.younger
	}
	if r.younger == nil {
		h.newest = r.older
	} else {
		r.younger.older = r.older
	}
}

// Of returns the entries of a parent by controllers, the oldest first. The version of the kind does not matter.
func (h *History) Of(kind schema.GroupKind, key object.Key) map[spec.ID][]Entry {
	if h == nil {
		return nil
	}
	all := map[spec.ID][]Entry{}
	for controller, records := range h.copies(name{kind, key}) {
		for _, r := range records {
			if r.text == nil {
				all[controller] = append(all[controller], r.rested.entry())
				continue
			}
			var e Entry
			if json.Unmarshal(r.text, &e) == nil && (r.candidate == nil || json.Unmarshal(r.candidate, &e.Candidate) == nil) {
				all[controller] = append(all[controller], e)
			}
		}
	}
	return all
}

// copies returns copies of the records of a parent by controllers. They share their texts, which do not change.
func (h *History) copies(of name) map[spec.ID][]record {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[spec.ID][]record{}
	for _, t := range h.parents[of] {
		for _, r := range t.records {
			all[t.controller] = append(all[t.controller], record{text: r.text, candidate: r.candidate, rested: r.rested})
		}
	}
	return all
}

// Last returns the last reconcile of a parent that was done.
func (h *History) Last(controller spec.ID, of object.Ref) (e Entry, found bool) {
	if h == nil {
		return e, false
	}
	for _, r := range slices.Backward(h.copies(nameOf(of))[controller]) {
		if r.text != nil {
			return e, json.Unmarshal(r.text, &e) == nil
		}
	}
	return e, false
}

// Names returns the names of the parents of a kind in a namespace of which there are entries.
func (h *History) Names(kind schema.GroupKind, namespace string) []string {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for of := range h.parents {
		if of.GroupKind == kind && of.Namespace == namespace {
			names = append(names, of.Name)
		}
	}
	return names
}

// Used returns how many bytes are in use, about.
func (h *History) Used() int {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.used
}
