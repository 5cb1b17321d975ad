package children

import (
	"context"

	"metascript/controller/claim"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A taking takes over an existing object that has the name of a child, if the rule of its kind permits it.
type taking struct {
	w                       *Writer
	parent, existing, child *object.Object
	rule                    claim.Cache
}

// permitted reports whether the object may be taken over. It is taken from another owner only once, also if that owner has removed the
// annotation that says so.
func (t taking) permitted() bool {
	again := t.w.Memory.taken[object.RefOf(t.existing)] == t.existing.GetUID()
	return t.rule.Takes(t.existing) && !(again && object.OwnerOf(t.existing) != nil)
}

// do takes the object over. The next reconcile finds it as a child.
func (t taking) do(ctx context.Context, to plan.Writer) error {
	from := "nobody"
	if ref := object.OwnerOf(t.existing); ref != nil {
		from = ref.Kind + " " + ref.Name
	}
	if err := t.rule.Take(ctx, t.parent, t.existing, t.child, t.w.Binding.GetLive, to); err != nil {
		return err
	}
	put(&t.w.Memory.taken, object.RefOf(t.existing), object.UIDOf(t.existing))
	t.w.Events.Normal(t.parent, "TakenOver", "%s existed already and belonged to %s: it is a child now, since adoptionPolicy is %s", object.Describe(t.existing), from, t.rule.Adoption)
	return kube.ErrRequeue
}
