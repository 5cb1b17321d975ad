package redact

import (
	"slices"

	"metascript/controller/object"
)

// What a Secret held before it was changed may be secret still, and may be in objects that were made with it, which the API
// server quotes as they are: so it is remembered, within these bounds.
const (
	maxPast      = 16       // Secrets, or versions of one
	maxPastBytes = 64 << 10 // of their values
)

// After has r know, too, the Secrets of the Redactor before it that was about the same, and gives r.
func (r *Redactor) AddPast(before *Redactor) *Redactor {
	if before == nil {
		return r
	}
	before.mu.Lock()
	past := append(before.outdated(), before.secrets...)
	before.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = past
	return r
}

// outdated are the Secrets in the past of r that hold something else by now, or are gone, the oldest first.
func (r *Redactor) outdated() []*object.Object {
	now, size := map[string]bool{}, 0
	for _, o := range r.secrets {
		now[versionOf(o)] = true
	}
	var kept []*object.Object
	for _, o := range slices.Backward(r.past) {
		if now[versionOf(o)] {
			continue
		}
		if size += sizeOf(o); len(kept) == maxPast || size > maxPastBytes {
			break
		}
		kept = append(kept, o)
	}
	slices.Reverse(kept)
	return kept
}

func versionOf(o *object.Object) string { return string(o.GetUID()) + " " + o.GetResourceVersion() }
