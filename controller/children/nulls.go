package children

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/plan"
)

// A keptNulls has the fields of a child that an answer has as null and that stay, since another field manager wrote them last.
type keptNulls struct {
	answer  string // a digest
	version string // the resourceVersion of the child
	fields  plan.Kept
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
// API server, since caches do not have its managedFields, once for each version of it and each answer that would remove a field by a null.
func (w *Writer) findKept(ctx context.Context, parent *object.Object, observed, desired *object.Set) error {
	policy := w.Policy(parent, nil)
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
		if known := w.Memory.kept[have.GetUID()]; known.answer == answer && known.version == have.GetResourceVersion() {
			continue
		}
		live, err := w.Binding.GetLive(ctx, have)
		switch {
		case apierrors.IsNotFound(err):
			return kube.ErrRequeue
		case err != nil:
			return fmt.Errorf("read %s to find out who wrote %s, which the hook returns as null: %w", object.Describe(have), nulls[0], err)
		case live.GetResourceVersion() != have.GetResourceVersion():
			return kube.ErrRequeue // the paths are those in the cache
		}
		kept := plan.Kept{}
		for _, field := range nulls {
			// The API server notes no field manager for a number of replicas that was set by the subresource scale and that nobody owned.
			scaled := field.String() == "spec.replicas" && len(ownership.Managers(live, field)) == 0
			if scaled || len(w.othersIn(live, field)) > 0 {
				kept[field.String()] = true
			}
		}
		put(&w.Memory.kept, object.UIDOf(have), keptNulls{answer, strings.Clone(have.GetResourceVersion()), kept})
	}
	return nil
}
