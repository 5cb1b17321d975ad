package remember

import (
	"hash/maphash"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/builtin"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/plan"
	"metascript/engine/packed"
)

// A base is what a reconcile depended on. If objects have changed in nothing of it, they take the place of those that the reconcile had, so
// that no older object stays in memory.
type base struct {
	epoch       uint64
	parent      *object.Object
	parentReads packed.Reads
	owned       table[child] // whose controller is the parent
	related     table[packed.Reads]

	// exact says that the reads are known, so that objects may change in what was not read, and as uses says. Otherwise an object
	// must be of the same version.
	exact bool
	uses  uses

	// written is the resourceVersion with which the API server has stored the status of the reconcile, for parent; "" if none was
	// written, or the parent is that one.
	written string
}

// A child is what was used of an object whose controller is the parent.
type child struct {
	reads  packed.Reads // nothing, if it is not claimed
	fields uint64       // a digest of the fields that our field manager owns
}

// newBase returns the base of a reconcile that has read nothing yet.
func newBase(s Snapshot) base {
	b := base{epoch: s.Epoch, parent: s.Parent, owned: newTable[child](len(s.Owned))}
	for _, o := range s.Owned {
		b.owned.set(o, child{fields: s.fieldsOf(o)})
	}
	return b
}

func (s Snapshot) fieldsOf(o *object.Object) uint64 {
	if fields := s.Fields(o); fields != (ownership.Fields{}) {
		return maphash.Comparable(seed, fields)
	}
	return 0
}

// read sets what the script has read. The reads count only if the request had no other objects than those at the beginning.
func (b *base) read(r *object.Recorder) {
	b.exact = r != nil && !r.Incomplete && len(r.Parents) == 1 && r.Parents[0].Object == b.parent
	if !b.exact {
		return
	}
	b.parentReads = r.Parents[0].Reads()
	for _, o := range r.Children {
		used, there := b.owned.get(o.Object)
		if b.exact = b.exact && there; !there {
			continue
		}
		used.reads = o.Reads()
		b.owned.set(o.Object, used)
	}
	b.related = newTable[packed.Reads](len(r.Related))
	for _, o := range r.Related {
		b.related.set(o.Object, o.Reads())
	}
}

// moves are the objects that have changed since the reconcile, with what was read of them. Objects that are of the same version are not
// in it, even if the caches have read them again.
type moves struct {
	parent         *object.Object // nil: not changed
	parentReads    packed.Reads
	owned, related []move
}

func (m moves) none() bool { return m.parent == nil && len(m.owned)+len(m.related) == 0 }

// A move is an object in place of the one before.
type move struct {
	from, to *object.Object
	reads    packed.Reads
}

// compare returns what has changed. ok is false if the reconcile may do something else now.
func (b *base) compare(now Snapshot, related func() ([]*object.Object, bool)) (m moves, ok bool) {
	owned, same := b.plansTheSame(now)
	if !same {
		return m, false
	}
	if !sameVersion(b.parent, now.Parent) {
		if m.parentReads, ok = b.parentReads.Hold(b.parent.Packed(), now.Parent.Packed()); !ok {
			return m, false
		}
		m.parent = now.Parent
	}
	if m.owned, ok = readTheSame(owned, func(o *object.Object) packed.Reads { return b.child(o).reads }); !ok || related == nil {
		return m, ok
	}
	found, known := related()
	if !known || !b.exact {
		return m, false
	}
	changed, same := changedObjects(&b.related, found)
	if !same {
		return m, false
	}
	m.related, ok = readTheSame(changed, func(o *object.Object) (reads packed.Reads) { reads, _ = b.related.get(o); return reads })
	return m, ok
}

// child returns what was used of an object whose controller is the parent.
func (b *base) child(o *object.Object) child {
	used, _ := b.owned.get(o)
	return used
}

// readTheSame compares what was read of objects that have changed, and returns them with the reads. ok is false if it is different.
func readTheSame(changed []move, readsOf func(before *object.Object) packed.Reads) (same []move, ok bool) {
	for _, c := range changed {
		if c.from.Packed().IsZero() || c.to.Packed().IsZero() {
			return nil, false
		}
		if c.reads, ok = readsOf(c.from).Hold(c.from.Packed(), c.to.Packed()); !ok {
			return nil, false
		}
		same = append(same, c)
	}
	return same, true
}

// move puts objects in place of those before.
func (b *base) move(m moves) {
	if m.parent != nil {
		b.parent, b.parentReads, b.written = m.parent, m.parentReads, ""
	}
	for _, o := range m.owned {
		used := b.child(o.from)
		used.reads = o.reads
		b.owned.move(o.from, o.to, used)
	}
	for _, o := range m.related {
		b.related.move(o.from, o.to, o.reads)
	}
}

// plansTheSame reports whether the same answer of the script leads to the same plan now, whatever the script reads, and returns the owned
// objects that have changed.
func (b *base) plansTheSame(now Snapshot) (owned []move, same bool) {
	if b.epoch != now.Epoch || b.parent == nil || now.Parent == nil {
		return nil, false
	}
	owned, same = changedObjects(&b.owned, now.Owned)
	if !same {
		return nil, false
	}
	for _, c := range owned {
		if !b.exact || !b.uses.sameChild(c.from, c.to) || b.child(c.from).fields != now.fieldsOf(c.to) {
			return nil, false
		}
	}
	if sameVersion(b.parent, now.Parent) {
		return owned, true
	}
	ours := b.written != ""
	if ours && now.Parent.GetResourceVersion() != b.written {
		return nil, false // somebody else may have written the status since, also the one of before
	}
	return owned, b.exact && b.uses.sameParent(b.parent, now.Parent, ours)
}

// changedObjects returns the objects of another version than before. ok is false if there are not the same objects.
func changedObjects[T any](before *table[T], now []*object.Object) (changed []move, ok bool) {
	if before.len() != len(now) {
		return nil, false
	}
	var index map[identity]*object.Object
	for _, o := range now {
		if _, same := before.get(o); same {
			continue
		}
		if index == nil {
			index = make(map[identity]*object.Object, before.len())
			for from := range before.objects() {
				index[identityOf(from)] = from
			}
		}
		from := index[identityOf(o)]
		if from == nil {
			return nil, false
		}
		if !sameVersion(from, o) {
			changed = append(changed, move{from: from, to: o})
		}
	}
	return changed, true
}

// An identity is of an object in each of its versions. An object may be there in more than one API version.
type identity struct {
	kind object.Kind
	name string
	uid  types.UID
}

func identityOf(o *object.Object) identity {
	return identity{o.GroupVersionKind(), o.GetName(), o.GetUID()}
}

func sameVersion(a, b *object.Object) bool {
	return a == b || a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// uses say what the server itself uses of objects after the script has answered.
type uses struct {
	// fields are the fields of the desired children of each kind, such as spec. The plan compares only these, and metadata.
	fields []kindFields

	status      bool // the status and the generation of the parent are compared with the answer
	generation  bool // the generation of the parent is used otherwise
	annotations bool // its labels and annotations are compared with the answer
}

type kindFields struct {
	kind   object.Kind
	fields []string
}

// fieldsOf returns the fields that are compared of a kind.
func (u uses) fieldsOf(kind object.Kind) []string {
	for _, of := range u.fields {
		if of.kind == kind {
			return of.fields
		}
	}
	return nil
}

func usesOf(r *hook.Response, parent *object.Object, customized bool) uses {
	u := uses{status: r.Status != nil, generation: customized, annotations: len(r.Labels)+len(r.Annotations) > 0}
	if r.Children == nil {
		return u.of(parent)
	}
	for _, kind := range r.Children.Kinds() {
		fields := []string{}
		for _, o := range r.Children.Group(kind) {
			for field := range builtin.Compared(o) {
				if !slices.Contains(fields, field) {
					fields = append(fields, field)
				}
			}
		}
		u.fields = append(u.fields, kindFields{kind, slices.Clip(fields)})
	}
	return u.of(parent)
}

// of returns what is used if this is the parent.
func (u uses) of(parent *object.Object) uses {
	if parent != nil {
		_, observed := parent.At("status", "observedGeneration")
		u.status = u.status || observed
	}
	return u
}

// sameChild reports whether the plan for a child is the same: nothing but fields that are not desired has changed, such as the status.
// Dynamic apply would remove a field that it applied and that is not desired any more, except for the status.
func (u uses) sameChild(before, now *object.Object) bool {
	fields, applied := u.fieldsOf(now.GroupVersionKind()), now.Annotation(plan.LastApplied)
	unused := func(field string) bool {
		return !slices.Contains(fields, field) && (field == "status" || !strings.Contains(applied, strconv.Quote(field)))
	}
	return sameFields(before, now, unused, isVersion)
}

// sameParent reports whether the parent is reconciled in the same way. The Snapshot says whether it is selected. hasOurs says that the
// status is the one that was wanted.
func (u uses) sameParent(before, now *object.Object, hasOurs bool) bool {
	u = u.of(now)
	old, _ := before.Field("spec", "selector")
	selector, _ := now.Field("spec", "selector")
	if !reflect.DeepEqual(old, selector) || u.generation && now.GetGeneration() == 0 {
		return false
	}
	unused := func(field string) bool { return field != "status" || !u.status || hasOurs }
	return sameFields(before, now, unused, func(field string) bool {
		switch field {
		case "generation":
			return !u.status && !u.generation
		case "labels", "annotations":
			return !u.annotations
		}
		return isVersion(field)
	})
}

// isVersion reports whether a field of metadata only says that an object has changed.
func isVersion(field string) bool { return field == "resourceVersion" || field == "generation" }

// sameFields reports whether two versions of an object have the same fields, and the same fields in their metadata, except for those
// that are ignored.
func sameFields(before, now *object.Object, ignore, ignoreMetadata func(field string) bool) bool {
	if before.Packed().IsZero() || now.Packed().IsZero() {
		return false
	}
	metadata, _ := before.Packed().Map("metadata")
	nowMetadata, _ := now.Packed().Map("metadata")
	if metadata.IsZero() || nowMetadata.IsZero() {
		return false
	}
	return metadata.EqualBut(nowMetadata, ignoreMetadata) &&
		before.Packed().EqualBut(now.Packed(), func(field string) bool { return field == "metadata" || ignore(field) })
}
