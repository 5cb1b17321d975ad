package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// FieldManager is the name under which fields are owned. It is Metacontroller's, so that ownership carries over.
const FieldManager = "metacontroller"

// A Writer carries out operations as one identity.
type Writer struct {
	Client    dynamic.Interface
	Resources *Resources
	Manager   string // who applies on the server's side; FieldManager if empty
	DryRun    bool   // everything is only tried: the API server looks at it as at any write, and stores nothing
}

// Do carries out op and returns the object as the API server stored it; for a dry run, as it would; for a deletion,
// as it was. Errors are the API server's own, wrapped: apierrors.IsConflict and its like tell them apart; a dry run may
// also give [plan.ErrImmutable]. They do not tell what the Secrets hold that the Redactor of ctx knows, or that op is about.
func (w *Writer) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	hidden := redact.FromContext(ctx)
	hidden.Add(op.Object, op.Observed)
	client, err := w.resource(op.Object)
	var stored *object.Object
	if err == nil {
		stored, err = w.do(ctx, client, op)
		err = sized(err, op.Object)
	}
	if err != nil {
		return nil, hidden.Error(fmt.Errorf("%s %s: %w", op.Verb, object.Describe(op.Object), err))
	}
	return stored, nil
}

func (w *Writer) do(ctx context.Context, client dynamic.ResourceInterface, op plan.Op) (*object.Object, error) {
	switch op.Verb {
	case plan.Create:
		return client.Create(ctx, op.Object, metav1.CreateOptions{FieldManager: FieldManager, DryRun: w.dryRun()})
	case plan.Update:
		return client.Update(ctx, op.Object, metav1.UpdateOptions{FieldManager: FieldManager, DryRun: w.dryRun()})
	case plan.UpdateStatus:
		return client.UpdateStatus(ctx, op.Object, metav1.UpdateOptions{FieldManager: FieldManager, DryRun: w.dryRun()})
	case plan.Apply, plan.DryRun:
		return w.apply(ctx, client, op)
	case plan.Delete:
		uid, version, background := op.Object.GetUID(), op.Object.GetResourceVersion(), metav1.DeletePropagationBackground
		return op.Object, client.Delete(ctx, op.Object.GetName(), metav1.DeleteOptions{
			PropagationPolicy: &background, DryRun: w.dryRun(),
			// Not what was released, adopted or changed since it was judged.
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
	}
	return nil, fmt.Errorf("unknown verb %q", op.Verb)
}

// dryRun is what requests say so that nothing is stored.
func (w *Writer) dryRun() []string {
	if !w.DryRun {
		return nil
	}
	return []string{metav1.DryRunAll}
}

// Get reads an object from the API server, past every cache.
func (w *Writer) Get(ctx context.Context, o *object.Object) (*object.Object, error) {
	client, err := w.resource(o)
	if err != nil {
		return nil, err
	}
	found, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	return found, redact.FromContext(ctx).Error(err)
}

// resource is the client for objects like o.
func (w *Writer) resource(o *object.Object) (dynamic.ResourceInterface, error) {
	r, err := w.Resources.byKind(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	client := w.Client.Resource(r.GroupVersionResource)
	if !r.Namespaced {
		return client, nil
	}
	return client.Namespace(o.GetNamespace()), nil
}
