package controller

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// tellWaiting records an event on each parent that is being deleted and waits for our finalizer, while nothing runs
// that could take it off: it names the way out. A parent that waits without a word looks like one that hangs.
func (s *Server) tellWaiting(ctx context.Context, cc *v1alpha1.CompositeController) error {
	rule := cc.Spec.ParentResource
	resource, err := s.resources.ByName(rule.APIVersion, rule.Resource)
	if err != nil {
		return nil // the parents went with their kind, or cannot be seen now
	}
	finalizer := finalizerPrefix + cc.Name
	options := metav1.ListOptions{Limit: 500}
	for {
		page, err := s.client.Resource(resource.GroupVersionResource).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if parent := &page.Items[i]; object.Deleting(parent) && slices.Contains(parent.GetFinalizers(), finalizer) {
				s.events.Warning(parent, "FinalizeWaiting", "CompositeController %s does not load, so that its finalize hook cannot be asked: mend the controller, or take finalizer %s off this object", cc.Name, finalizer)
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
