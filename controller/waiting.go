package controller

import (
	"context"
	"errors"
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// tellWaiting records an event on each parent that is being deleted and waits for our finalizer, while nothing runs
// that could take it off: it names the way out. A parent that waits without a word looks like one that hangs.
func (s *Server) tellWaiting(ctx context.Context, d *declaration) error {
	var failed []error
	for _, rule := range d.Parents {
		failed = append(failed, s.tellWaitingOf(ctx, d.id(), rule.ResourceRule))
	}
	return errors.Join(failed...)
}

func (s *Server) tellWaitingOf(ctx context.Context, who id, rule v1alpha1.ResourceRule) error {
	resource, err := s.resources.ByName(rule.APIVersion, rule.Resource)
	if err != nil {
		return nil // the parents went with their kind, or cannot be seen now
	}
	return s.finalizers().Each(ctx, resource, func(parent *object.Object) error {
		if object.Deleting(parent) && slices.Contains(parent.GetFinalizers(), who.finalizer()) {
			s.events.Warning(parent, "FinalizeWaiting", "%s does not load, so that its finalize hook cannot be asked: mend the controller, or take finalizer %s off this object", who, who.finalizer())
		}
		return nil
	})
}
