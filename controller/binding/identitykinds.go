package binding

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// IdentityKinds knows the kinds of which two objects with the same UID and resourceVersion have the same content. The script
// engine may keep what it computed from such an object.
//
// There are two exceptions. First, an object has different content in different versions of the API. So only the version of a
// kind that was asked about first counts, as long as the server runs. Second, an edited CustomResourceDefinition can change
// the defaults of objects without a new resourceVersion. So after an edit no kind of its group counts any more.
type IdentityKinds struct {
	mu      sync.Mutex                  // guards the fields below, and the writes of Binding.versioned
	version map[schema.GroupKind]string // the version that was asked about first
	changed map[string]bool             // the groups with an edited definition
}

// NewIdentityKinds returns an IdentityKinds that knows no kind yet.
func NewIdentityKinds() *IdentityKinds {
	return &IdentityKinds{version: map[schema.GroupKind]string{}, changed: map[string]bool{}}
}

// Changed records that a definition in group was edited.
func (k *IdentityKinds) Changed(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changed[group] = true
}

// Update computes the VersionedKinds of b anew.
func (k *IdentityKinds) Update(b *Binding) {
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
	k.mu.Lock()
	defer k.mu.Unlock() // also while it is stored, so that a later result is not replaced by an earlier one
	all := k.check(kinds)
	b.versioned.Store(&all)
}

// check returns of each kind whether it counts. The caller has locked mu.
func (k *IdentityKinds) check(kinds []object.Kind) map[object.Kind]bool {
	all := map[object.Kind]bool{}
	for _, kind := range kinds {
		if k.version[kind.GroupKind()] == "" {
			k.version[kind.GroupKind()] = kind.Version
		}
		all[kind] = k.version[kind.GroupKind()] == kind.Version && !k.changed[kind.Group]
	}
	return all
}

// VersionedKinds returns the result of the last Update for b, for [hook.Request.Versioned]. It is nil before the first.
func (b *Binding) VersionedKinds() map[object.Kind]bool {
	if all := b.versioned.Load(); all != nil {
		return *all
	}
	return nil
}
