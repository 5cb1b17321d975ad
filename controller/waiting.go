package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// tellWaiting records an event on each parent that is being deleted and waits for our finalizer, while nothing runs
// that could take it off: it names the way out. A parent that waits without a word looks like one that hangs.
func (s *Server) tellWaiting(ctx context.Context, d *declaration) error {
	var failed []error
	why, way := "does not load", "mend the controller"
	if d.Settings.Paused {
		why, way = "is paused", "end the pause"
	}
	text := fmt.Sprintf("%s %s, so that its finalize hook cannot be asked: %s, or take finalizer %s off this object", d.id(), why, way, d.id().finalizer())
	for _, rule := range d.Parents {
		failed = append(failed, s.tellWaitingOf(ctx, d.id(), rule.ResourceRule, text))
	}
	return errors.Join(failed...)
}

func (s *Server) tellWaitingOf(ctx context.Context, who id, rule v1alpha1.ResourceRule, text string) error {
	resource, err := s.resources.ByName(rule.APIVersion, rule.Resource)
	if err != nil {
		return nil // the parents went with their kind, or cannot be seen now
	}
	return s.finalizers().Each(ctx, resource, func(parent *object.Object) error {
		if object.Deleting(parent) && slices.Contains(parent.GetFinalizers(), who.finalizer()) {
			s.events.Warning(parent, "FinalizeWaiting", "%s", text)
		}
		return nil
	})
}
