package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"metascript/cmd/metascript/internal/memapi"
	"metascript/controller/object"
)

// requests are the requests of a control plane to the API server.
type requests struct {
	api    *memapi.Server
	client dynamic.Interface

	mu       sync.Mutex // guards failures
	failures []error
}

// resource returns the client for an object.
func (r *requests) resource(o *object.Object) (dynamic.ResourceInterface, error) {
	resource, namespaced, ok := r.api.Resource(o.GroupVersionKind())
	if !ok {
		return nil, fmt.Errorf("%s is not served", o.GroupVersionKind())
	}
	return r.of(resource, namespaced, o.GetNamespace()), nil
}

func (r *requests) of(resource schema.GroupVersionResource, namespaced bool, namespace string) dynamic.ResourceInterface {
	if !namespaced {
		return r.client.Resource(resource)
	}
	return r.client.Resource(resource).Namespace(namespace)
}

func (r *requests) delete(ctx context.Context, o *object.Object, policy metav1.DeletionPropagation) {
	client, err := r.resource(o)
	if err == nil {
		uid := o.GetUID()
		err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	r.note(err)
}

// patch changes the metadata of an object.
func (r *requests) patch(ctx context.Context, o *object.Object, metadata map[string]any) {
	metadata["uid"] = o.GetUID()
	r.note(r.merge(ctx, o, map[string]any{"metadata": metadata}))
}

func (r *requests) merge(ctx context.Context, o *object.Object, patch map[string]any, subresource ...string) error {
	client, err := r.resource(o)
	if err != nil {
		return err
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{}, subresource...)
	return err
}

// note records an error. It is no error that the object was deleted or replaced meanwhile.
func (r *requests) note(err error) {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, err)
}

// Failures returns the errors of the requests so far.
func (r *requests) Failures() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}
