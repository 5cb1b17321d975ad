package memapi

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// remove deletes an object. It is answered with a Status, or with the object if it has finalizers.
func (s *Server) remove(r *request) (int, any, error) {
	o := s.objects[r.resource()][r.Key]
	if o == nil {
		return 0, nil, apierrors.NewNotFound(r.resource(), r.Name)
	}
	options, err := r.deleteOptions()
	if err != nil {
		return 0, nil, err
	}
	if err := checkPreconditions(r, o, options.Preconditions); err != nil {
		return 0, nil, err
	}
	if marked := s.delete(r.kind, r.kind.inVersion(o), options); marked != nil {
		return http.StatusOK, marked, nil
	}
	if _, builtin := r.kind.strategy.(typed); builtin && slices.Contains(returned, r.kind.Kind) {
		return http.StatusOK, deleted(o), nil
	}
	return http.StatusOK, map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": metav1.StatusSuccess,
		"details": metav1.StatusDetails{Name: r.Name, Group: r.kind.Group, Kind: r.resource().Resource, UID: o.GetUID()},
	}, nil
}

// returned are the kinds of Kubernetes for which the answer to a deletion is the object.
var returned = []string{"Pod", "PersistentVolumeClaim", "PersistentVolume", "PodTemplate", "ServiceAccount", "ResourceQuota", "LimitRange"}

// deleted returns an object as it was when it was deleted.
func deleted(o *object.Object) *object.Object {
	last := object.Copy(o)
	if o.GetKind() == "Pod" {
		now, grace := metav1.NewTime(time.Now()), int64(0)
		last.SetDeletionTimestamp(&now)
		last.SetDeletionGracePeriodSeconds(&grace)
	}
	return last
}

// deleteAll deletes all objects that the request selects.
func (s *Server) deleteAll(r *request) (int, any, error) {
	options, err := r.deleteOptions()
	if err != nil {
		return 0, nil, err
	}
	found, err := s.list(r)
	if err != nil {
		return 0, nil, err
	}
	for _, item := range found.Items {
		s.delete(r.kind, item.(*object.Object), options)
	}
	return http.StatusOK, found, nil
}

// deleteOptions returns the options in the body and in the query.
func (r *request) deleteOptions() (metav1.DeleteOptions, error) {
	var options metav1.DeleteOptions
	if len(r.body) > 0 {
		content, err := decode(r.body)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(content.Map(), &options)
		}
		if err != nil {
			return options, apierrors.NewBadRequest("decode DeleteOptions: " + err.Error())
		}
	}
	if policy := r.query.Get("propagationPolicy"); policy != "" {
		options.PropagationPolicy = (*metav1.DeletionPropagation)(&policy)
	}
	options.DryRun = append(options.DryRun, r.query["dryRun"]...)
	return options, nil
}

// checkPreconditions returns a conflict if the object is not the one that the client wants to delete.
func checkPreconditions(r *request, o *object.Object, p *metav1.Preconditions) error {
	var reason error
	switch named := (schema.GroupResource{Group: r.kind.Group, Resource: r.kind.Kind}); {
	case p == nil:
		return nil
	case p.UID != nil && *p.UID != o.GetUID():
		reason = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, o.GetUID())
		return apierrors.NewConflict(named, r.Name, reason)
	case p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion():
		reason = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, o.GetResourceVersion())
		return apierrors.NewConflict(named, r.Name, reason)
	}
	return nil
}

// delete deletes an object, or marks it as being deleted if it has finalizers, and returns it then.
func (s *Server) delete(k *kind, o *object.Object, options metav1.DeleteOptions) (marked *object.Object) {
	dryRun := slices.Contains(options.DryRun, metav1.DryRunAll)
	marked = object.Copy(o)
	marked.SetFinalizers(finalizersFor(o.GetFinalizers(), options.PropagationPolicy))
	if !held(marked) {
		if !dryRun {
			s.undefine(k, o)
			s.store(k, o, nil)
		}
		return nil
	}
	if !object.Deleting(o) {
		now, grace := metav1.NewTime(time.Now()), int64(0)
		marked.SetDeletionTimestamp(&now)
		if k.Kind == "Namespace" {
			_ = unstructured.SetNestedField(marked.Map(), "Terminating", "status", "phase")
		} else {
			marked.SetDeletionGracePeriodSeconds(&grace)
			if o.GetGeneration() > 0 {
				marked.SetGeneration(o.GetGeneration() + 1)
			}
		}
	} else if slices.Equal(marked.GetFinalizers(), o.GetFinalizers()) {
		return marked
	}
	if !dryRun {
		s.store(k, o, marked)
	}
	return marked
}

// finalizersFor returns the finalizers of an object that is deleted with a propagation policy: the garbage collector has a finalizer
// for each policy but Background.
func finalizersFor(finalizers []string, policy *metav1.DeletionPropagation) []string {
	if policy == nil {
		return finalizers
	}
	finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	})
	switch *policy {
	case metav1.DeletePropagationForeground:
		return append(finalizers, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		return append(finalizers, metav1.FinalizerOrphanDependents)
	}
	return finalizers
}

// held reports whether an object with a deletion timestamp continues to exist, because of its finalizers.
func held(o *object.Object) bool {
	if len(o.GetFinalizers()) > 0 {
		return true
	}
	inSpec, _, _ := unstructured.NestedSlice(o.Map(), "spec", "finalizers")
	return o.GroupVersionKind() == namespaceKind && len(inSpec) > 0
}
