package inspect

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/history"
	"metascript/controller/object"
)

var everything = labels.Everything()

// A scope is the objects of a kind in a namespace.
type scope struct {
	schema.GroupVersionKind
	namespace string
}

// maxScopes is how many scopes the API server is asked about for one response. Objects in others are not shown.
const maxScopes = 100

// A sight is what a caller may read, as far as it is known. It belongs to one request.
type sight struct {
	handler *Handler
	caller  *Caller
	known   map[scope]bool
}

// sees reports whether the caller may read an object, with all others of its kind in its namespace.
func (s *sight) sees(ctx context.Context, o history.Object) (bool, error) {
	version, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return false, nil
	}
	where := scope{version.WithKind(o.Kind), o.Namespace}
	if may, known := s.known[where]; known || len(s.known) >= maxScopes {
		return may, nil
	}
	may, err := s.caller.mayRead(ctx, s.handler.groupResource(where.GroupVersionKind), o.Namespace)
	if err == nil {
		s.known[where] = may
	}
	return may, err
}

// groupResource returns the resource of a kind. If it is not served any more, as after its definition was deleted, that is the one that
// the controllers have watched; or else all resources of its group, which whoever may read all of them may read.
func (h *Handler) groupResource(kind object.Kind) schema.GroupResource {
	if resource, err := h.server.Resources.ByKind(kind); err == nil {
		return resource.GroupVersionResource.GroupResource()
	}
	for _, r := range h.server.Running() {
		for _, child := range r.Binding().Children {
			if child.Kind == kind {
				return child.Informer.Spec().Resource.GroupResource()
			}
		}
	}
	return schema.GroupResource{Group: kind.Group, Resource: "*"}
}

// hidden replaces an error that may tell of objects that the caller may not read.
const hidden = "it failed; the error is not shown, since you may not read all objects of this reconcile"

// hiddenDifference replaces the difference between two versions.
const hiddenDifference = "it is not shown, since you may not read all objects of this reconcile"

// hide removes from the entries what tells of objects that the caller may not read.
func (h *Handler) hide(ctx context.Context, caller *Caller, t *target, why *Why) error {
	s := &sight{h, caller, map[scope]bool{}}
	for i := range why.Controllers {
		for j := range why.Controllers[i].Entries {
			if err := s.hideIn(ctx, t, &why.Controllers[i].Entries[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sight) hideIn(ctx context.Context, t *target, e *history.Entry) (failed error) {
	before := len(e.Causes) + len(e.Writes)
	drop := func(o history.Object) bool {
		if failed != nil || isNamed(o, t.Ref) {
			return false
		}
		var sees bool
		sees, failed = s.sees(ctx, o)
		return !sees
	}
	e.Causes = slices.DeleteFunc(e.Causes, func(c history.Cause) bool { return drop(c.Object) })
	e.Writes = slices.DeleteFunc(e.Writes, func(w history.Write) bool { return drop(w.Object) })
	e.Hidden = before - len(e.Causes) - len(e.Writes)
	if c := e.Candidate; c != nil {
		all := len(c.Writes)
		c.Writes = slices.DeleteFunc(c.Writes, func(w history.CandidateWrite) bool { return drop(w.Object) })
		e.Hidden += all - len(c.Writes)
		if c.Object != nil && drop(*c.Object) {
			e.Hidden++
		}
		if e.Hidden > 0 && c.Difference != "" {
			c.Difference, c.Object = hiddenDifference, nil
		}
		if e.Hidden > 0 && c.Error != "" {
			c.Error, c.Detail = hidden, ""
		}
	}
	if e.Hidden > 0 && e.Error != "" {
		e.Error, e.Detail = hidden, ""
	}
	return failed
}

// isNamed reports whether an object has the group, the kind and the name of ref. Its version may be another one.
func isNamed(o history.Object, ref object.Ref) bool {
	return o.GroupKind() == ref.Kind.GroupKind() && o.Namespace == ref.Namespace && o.Name == ref.Name
}
