package binding

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// IdentityKinds knows of which kinds an object's UID and resourceVersion name one content for as long as the server runs, so
// that what a script's engine derived from it may be kept.
//
// They do not where a kind is looked at in several versions of the API, in which the same object reads differently: only
// the version that came first counts, and stays the first. Nor do they once a definition has changed, which may give
// objects other defaults without touching them: then no kind of its group counts any more.
type IdentityKinds struct {
	mu      sync.Mutex
	version map[schema.GroupKind]string
	changed map[string]bool // by group
}

func NewIdentityKinds() *IdentityKinds {
	return &IdentityKinds{version: map[schema.GroupKind]string{}, changed: map[string]bool{}}
}

// among gives the kinds that count.
func (f *IdentityKinds) among(kinds ...object.Kind) map[object.Kind]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.amongThem(kinds)
}

func (f *IdentityKinds) amongThem(kinds []object.Kind) map[object.Kind]bool {
	all := map[object.Kind]bool{}
	for _, kind := range kinds {
		if f.version[kind.GroupKind()] == "" {
			f.version[kind.GroupKind()] = kind.Version
		}
		all[kind] = f.version[kind.GroupKind()] == kind.Version && !f.changed[kind.Group]
	}
	return all
}

// Changed tells that a definition in group changed.
func (f *IdentityKinds) Changed(group string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed[group] = true
}

// Update says anew which of a binding's kinds count.
func (f *IdentityKinds) Update(b *Binding) {
	var kinds []object.Kind
	for _, parent := range b.Parents {
		kinds = append(kinds, parent.ObjectKind())
	}
	for kind := range b.Kinds {
		kinds = append(kinds, kind)
	}
	b.RelatedKinds.Range(func(kind, _ any) bool {
		kinds = append(kinds, kind.(object.Kind))
		return true
	})
	f.mu.Lock()
	defer f.mu.Unlock() // also while it is stored: a later count must not be replaced by an earlier one
	all := f.amongThem(kinds)
	b.versioned.Store(&all)
}

// VersionedKinds are those that counted last.
func (b *Binding) VersionedKinds() map[object.Kind]bool {
	if all := b.versioned.Load(); all != nil {
		return *all
	}
	return nil
}
