package revisions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/rollout"
	"metascript/controller/schemas"
)

// Schemas has the schemas of custom resources, of their definitions in the cluster. It reads a definition when its schema is first needed,
// and again after the definition has changed. It is safe for concurrent use.
type Schemas struct {
	Client  dynamic.ResourceInterface        // of the CustomResourceDefinitions
	Watched func(name string) *object.Object // returns the metadata of a definition as it is now; nil if there is none of this name

	mu   sync.Mutex // guards read
	read map[string]definition
}

// A definition is a CustomResourceDefinition that was read.
type definition struct {
	uid        types.UID
	generation int64
	kinds      *schemas.Set // nil: it has no schemas, as those of before Kubernetes 1.16
}

// Of returns the schema of a resource; nil if the resource is not a custom resource, or has no schema.
func (s *Schemas) Of(ctx context.Context, r kube.Resource) (*schemas.Kind, error) {
	name := r.GroupVersionResource.GroupResource().String()
	watched := s.Watched(name)
	if watched == nil {
		return nil, nil
	}
	s.mu.Lock()
	d, ok := s.read[name]
	s.mu.Unlock()
	if !ok || d.uid != watched.GetUID() || d.generation != watched.GetGeneration() {
		now, err := s.get(ctx, name)
		switch {
		case err == nil:
			d = now
			s.put(name, d)
		case !ok:
			return nil, fmt.Errorf("read CustomResourceDefinition %s, which says what a revision of a parent may have: %w", name, err)
		} // otherwise the definition of before is used
	}
	if d.kinds == nil {
		return nil, nil
	}
	return d.kinds.Kind(r.ObjectKind())
}

func (s *Schemas) put(name string, d definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil {
		s.read = map[string]definition{}
	}
	s.read[name] = d
}

// get reads a definition. It lists, since the server may list definitions and not get one.
func (s *Schemas) get(ctx context.Context, name string) (definition, error) {
	list, err := s.Client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return definition{}, err
	}
	for i := range list.Items {
		if list.Items[i].GetName() != name {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		text, err := list.Items[i].MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &crd)
		}
		if err != nil {
			return definition{}, err
		}
		d := definition{uid: crd.UID, generation: crd.Generation}
		if kinds, err := schemas.Kubernetes().With(&crd); err == nil { // else it is older than the rules for schemas
			d.kinds = kinds
		}
		return d, nil
	}
	return definition{}, nil // it was deleted
}

// An InvalidError says that a ControllerRevision has a value that the schema of the parent does not permit. Users who may write
// ControllerRevisions may not be permitted to write the parent, or the definition has changed since.
type InvalidError struct {
	Revision string
	Problem  schemas.Problem
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("ControllerRevision %s is not used, since the CustomResourceDefinition of the parent does not permit what it has: %s; correct it in parentPatch, or delete that ControllerRevision: its children then move to the latest revision one by one", e.Revision, e.Problem)
}

// At returns parent as it was in a revision, without fields that the schema does not have: the API server would not store them. The error is an
// [*InvalidError] if the schema does not permit a value of the revision. If the parent is being deleted, it is returned as it is then, so that it
// can be finalized. A field that is required now and missing then is no error, since the definition may have changed; and what is wrong
// with the parent itself, or with fields of the revision together with others that are not part of it, is none either.
func (r *Revisions) At(ctx context.Context, parent *object.Object, of rollout.Revision) (*object.Object, error) {
	then, err := rollout.Apply(parent, of.Patch, r.Paths)
	if err != nil {
		return nil, fmt.Errorf("ControllerRevision %s: %w", of.Name, err)
	}
	if r.Schema == nil {
		return then, nil
	}
	kind, err := r.Schema(ctx)
	if err != nil || kind == nil {
		return then, err
	}
	problems := kind.Validate(then.Map())
	if len(problems) == 0 {
		return then, nil
	}
	known, unknown := kind.Validate(parent.Map()), false
	for _, problem := range problems {
		unknown = unknown || problem.Cause == schemas.Unknown
		switch {
		case problem.Cause == schemas.Unknown || problem.Cause == schemas.Missing || slices.Contains(known, problem) || !r.has(problem.Path):
		case object.Deleting(parent):
			return parent, nil
		default:
			return nil, &InvalidError{of.Name, problem}
		}
	}
	if !unknown {
		return then, nil
	}
	content, err := kind.Default(then.Map())
	if err != nil {
		return nil, fmt.Errorf("ControllerRevision %s: %w", of.Name, err)
	}
	return object.New(content), nil
}

// has reports whether a field is part of revisions.
func (r *Revisions) has(path string) bool {
	return slices.ContainsFunc(r.Paths, func(of string) bool {
		rest, found := strings.CutPrefix(path, of)
		return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
