package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// introduction is how long after an object was seen first its status is not written: who creates an object and then
// updates it, as it came back, must not find it changed.
const introduction = time.Second

// young gives how long o's status is not to be written yet.
func (s *Server) young(o *object.Object) time.Duration {
	first, _ := s.met.LoadOrStore(o.GetUID(), time.Now())
	return introduction - time.Since(first.(time.Time))
}

// writeStatus writes status into o if it differs from what is there.
func (s *Server) writeStatus(ctx context.Context, o *object.Object, status *v1alpha1.ControllerStatus) error {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("status of %s: %w", object.Describe(o), err)
	}
	changed := object.Copy(o)
	changed.Object["status"] = m
	if s.statusPruned.Load() || plan.Difference(object.StatusOf(o), object.StatusOf(changed)) == "" {
		return nil
	}
	if wait := s.young(o); wait > 0 && s.Given == nil {
		s.queue.AddAfter(spec.IDOf(o), wait)
		return nil
	}
	stored, err := s.controllerWriter().Do(ctx, plan.Op{Verb: plan.UpdateStatus, Object: changed, Why: "conditions"})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && !hasConditions(stored) && time.Since(time.Unix(0, s.definedAt.Load())) < definitionLag {
		return fmt.Errorf("%s: its status was not stored: the API server may not know the new definition yet", object.Describe(o))
	}
	if err == nil && !hasConditions(stored) && !s.statusPruned.Swap(true) {
		s.Log.Warn(oldDefinitions)
		s.events.Warning(o, "OldDefinitions", "%s", oldDefinitions)
	}
	return err
}

// controllerWriter writes to controller objects.
func (s *Server) controllerWriter() plan.Writer {
	if s.Given != nil {
		return s.Given
	}
	return s.write
}

// definitionLag is how long after its change an API server may still go by an old definition.
const definitionLag = 10 * time.Second

// oldDefinitions is told once, when only the program was replaced and not what came with it.
const oldDefinitions = "the CustomResourceDefinitions of the controllers are older than this server, and keep neither spec.script nor the status: apply those of its release, in manifests/crds; no status is written until they change"

func hasConditions(o *object.Object) bool {
	_, found, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	return found && err == nil
}
