package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"metascript/controller/account"
	"metascript/controller/apiserver"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/wire"
)

// FieldManager is the name of our field manager. It is the same as Metacontroller's, so that ownership stays when this
// server replaces it.
const FieldManager = "metacontroller"

// A Writer does the writes to the API server.
type Writer struct {
	Client    rest.Interface // see wire.NewClient
	Resources *Resources
	Manager   string // the field manager of server-side apply; default FieldManager
	DryRun    bool   // all writes are dry runs: the API server validates them and stores nothing

	// Account is the account that Client acts as. Errors of requests that the account may not do have the command that grants
	// the permission.
	Account account.Account
}

// Do does op and returns the object as the API server stored it, or would store it in a dry run; for a Delete, as it was
// before. Errors wrap those of the API server, for functions such as apierrors.IsConflict; the error of a dry run may be
// [plan.ErrImmutable]. They do not contain values of Secrets: neither of those that the Redactor of ctx knows, nor of those
// in op.
func (w *Writer) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	redactor := redact.FromContext(ctx)
	redactor.Add(op.Object, op.Observed)
	client, err := w.objects(op.Object)
	var stored *object.Object
	if err == nil {
		stored, err = w.do(ctx, client, op)
		err = apiserver.Cause(err)
		err = w.withCommand(undeclared(sized(err, op.Object)))
	}
	if err != nil {
		return nil, redactor.Error(fmt.Errorf("%s %s: %w", op.Verb, object.Describe(op.Object), err))
	}
	w.discoverDefined(op)
	return stored, nil
}

// discoverDefined has the kind discovered that op defines, if it creates a CustomResourceDefinition: the next write may be an object of
// this kind, before the watch of definitions shows the new one.
func (w *Writer) discoverDefined(op plan.Op) {
	if op.Creates() && !w.DryRun && op.Object.GetKind() == "CustomResourceDefinition" {
		group, _, _ := unstructured.NestedString(op.Object.Map(), "spec", "group")
		w.Resources.Forget(group)
	}
}

func (w *Writer) do(ctx context.Context, client objects, op plan.Op) (*object.Object, error) {
	switch op.Verb {
	case plan.Create:
		return client.create(ctx, op.Object, w.options())
	case plan.DryCreate:
		return w.dryCreate(ctx, client, op)
	case plan.Update:
		return client.update(ctx, op.Object, w.options())
	case plan.DryUpdate:
		stored, err := client.update(ctx, op.Object, options{manager: FieldManager, dryRun: true})
		return stored, unconfirmed(err)
	case plan.UpdateStatus:
		return client.update(ctx, op.Object, w.options(), "status")
	case plan.Apply, plan.DryRun:
		return w.apply(ctx, client, op)
	case plan.Delete:
		uid, version, background := op.Object.GetUID(), op.Object.GetResourceVersion(), metav1.DeletePropagationBackground
		return op.Object, client.delete(ctx, op.Object.GetName(), metav1.DeleteOptions{
			PropagationPolicy: &background, DryRun: w.dryRun(),
			// An object that was released, adopted or changed since it was observed is not deleted.
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
	}
	return nil, fmt.Errorf("unknown verb %q", op.Verb)
}

// options returns the options of a write that is not an apply.
func (w *Writer) options() options { return options{manager: FieldManager, dryRun: w.DryRun} }

// dryRun returns the option of deletions so that nothing is stored, or nil.
func (w *Writer) dryRun() []string {
	if !w.DryRun {
		return nil
	}
	return []string{metav1.DryRunAll}
}

// Get reads an object from the API server, without a cache.
func (w *Writer) Get(ctx context.Context, o *object.Object) (*object.Object, error) {
	client, err := w.objects(o)
	if err != nil {
		return nil, err
	}
	found, err := client.get(ctx, o.GetName())
	err = apiserver.Cause(err)
	return found, redact.FromContext(ctx).Error(w.withCommand(err))
}

// withCommand returns err with the command that grants the permission, if the API server refused a request of an account because
// a permission is missing.
func (w *Writer) withCommand(err error) error {
	refused := Forbidden(err)
	if refused == nil || w.Account.IsServer() {
		return err
	}
	missing, known := w.Account.Refused(refused.Error())
	if !known {
		return err
	}
	return &RefusedError{err, refused.(apierrors.APIStatus).Status(), missing}
}

// objects returns the requests for the resource of o, in its namespace.
func (w *Writer) objects(o *object.Object) (objects, error) {
	r, err := w.Resources.ByKind(o.GroupVersionKind())
	if err != nil {
		return objects{}, err
	}
	namespace := ""
	if r.Namespaced {
		namespace = o.GetNamespace()
	}
	if err := segment("namespace", namespace); err != nil {
		return objects{}, err
	}
	return objects{w.Client, wire.Path(r.GroupVersionResource, namespace)}, nil
}
