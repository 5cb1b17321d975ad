package redact

import (
	"slices"

	"metascript/controller/object"
	"metascript/controller/secretvalues"
)

// The values of a Secret before a change may still be secret, and the API server may quote objects that contain them. So they are
// kept, within these limits.
const (
	maxPast      = 16       // Secrets, or versions of one
	maxPastBytes = 64 << 10 // of their values
)

// AddPast adds the Secrets of before, the Redactor of the previous reconcile of the same parent, and what is public there, and returns r. before may
// be nil.
func (r *Redactor) AddPast(before *Redactor) *Redactor {
	if before == nil {
		return r
	}
	before.mu.Lock()
	past := append(before.outdated(), before.secrets...)
	before.mu.Unlock()
	r.public.addAll(&before.public)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = past
	return r
}

// outdated returns the past Secrets that have changed since, or were deleted, the oldest first. The caller has locked mu.
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
		if size += secretvalues.Size(o); len(kept) == maxPast || size > maxPastBytes {
			break
		}
		kept = append(kept, o)
	}
	slices.Reverse(kept)
	return kept
}

func versionOf(o *object.Object) string { return string(o.GetUID()) + " " + o.GetResourceVersion() }
