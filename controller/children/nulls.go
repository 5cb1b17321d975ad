package children

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A keptNulls has the fields of a child that an answer has as null and that stay, since another field manager wrote them last.
type keptNulls struct {
	answer string // a digest
	fields plan.Kept
}

// keptFields returns the fields that stay, by child.
func (m *Memory) keptFields() map[types.UID]plan.Kept {
	if len(m.kept) == 0 {
		return nil
	}
	fields := make(map[types.UID]plan.Kept, len(m.kept))
	for uid, kept := range m.kept {
		fields[uid] = kept.fields
	}
	return fields
}

// findKept finds which of the nulls of an answer would remove a value that another field manager wrote last. It reads a child from the
// API server, since caches do not have its managedFields, once for each answer that would remove a field by a null.
func (w *Writer) findKept(ctx context.Context, parent *object.Object, observed, desired *object.Set) {
	policy := w.Policy(parent)
	for want := range desired.All() {
		have := observed.Get(want.GroupVersionKind(), object.KeyOf(want))
		if have == nil {
			continue
		}
		var nulls []plan.Path
		if plan.HasNull(want.Map()) {
			nulls, _ = policy.Nulls(have, want) // the plan returns the error again
		}
		if len(nulls) == 0 {
			delete(w.Memory.kept, have.GetUID())
			continue
		}
		answer := plan.Digest(want)
		if known, found := w.Memory.kept[have.GetUID()]; found && known.answer == answer {
			continue
		}
		w.Memory.kept[types.UID(string([]byte(have.GetUID())))] = keptNulls{answer, w.othersOwn(ctx, have, nulls)}
	}
}

// othersOwn returns which fields of a child other field managers own. All fields count if the child cannot be read.
func (w *Writer) othersOwn(ctx context.Context, child *object.Object, fields []plan.Path) plan.Kept {
	live, err := w.Binding.GetLive(ctx, child)
	kept := plan.Kept{}
	for _, field := range fields {
		if err != nil || len(w.othersIn(live, field)) > 0 {
			kept[field.String()] = true
		}
	}
	return kept
}
