// Package schemas has the schemas of kinds. With them it says offline what an API server would say to an object.
//
//   - [Kubernetes] has the kinds of Kubernetes itself, of the version in kinds.KubernetesSource. They are embedded.
//   - [Set.With] adds the kinds of CustomResourceDefinitions.
//   - [Cluster] has the kinds of a cluster instead.
//
// [Set.Kind] returns a [Kind], which validates objects, sets their defaults, and removes unknown fields. For other uses of the
// schemas, such as generating types, [Set.Definitions] returns them as OpenAPI v3 definitions.
//
// Nothing is decompressed or parsed before it is used: a program that imports this package and asks for no kind pays only for the
// bytes in its binary.
package schemas

import (
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"metascript/controller/api/validation"
	"metascript/controller/kinds"
)

// A Set is the kinds that are known. It is safe for concurrent use, and With does not change it.
type Set struct {
	table   kinds.Table
	partial bool // there may be kinds that are not in the table
	custom  map[schema.GroupVersionKind]*custom
	builtin func(schema.GroupVersion) (*definitions, error) // of the kinds that are not custom

	mu    sync.Mutex // guards found
	found map[schema.GroupVersionKind]*Kind
}

// custom is a version of a CustomResourceDefinition.
type custom struct {
	crd       *apiextensionsv1.CustomResourceDefinition
	validator *validation.Validator
}

// Kubernetes returns the kinds of Kubernetes itself.
func Kubernetes() *Set {
	return newSet(kinds.Kubernetes(), true, func(schema.GroupVersion) (*definitions, error) { return embedded() })
}

func newSet(table kinds.Table, partial bool, builtin func(schema.GroupVersion) (*definitions, error)) *Set {
	return &Set{table: table, partial: partial, custom: map[schema.GroupVersionKind]*custom{}, builtin: builtin, found: map[schema.GroupVersionKind]*Kind{}}
}

// With returns a Set that also has the kinds of definitions. If s has one of these kinds too, the definition has precedence.
func (s *Set) With(crds ...*apiextensionsv1.CustomResourceDefinition) (*Set, error) {
	all := newSet(slices.Clone(s.table), s.partial, s.builtin)
	for kind, c := range s.custom {
		all.custom[kind] = c
	}
	for _, crd := range crds {
		validator, err := validation.New(crd)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
		}
		for _, r := range kinds.Defined(crd) {
			all.table = slices.DeleteFunc(all.table, func(other kinds.Resource) bool { return other.GVK() == r.GVK() })
			all.custom[r.GVK()] = &custom{crd, validator}
			all.table = append(all.table, r)
		}
	}
	return all, nil
}

// Complete reports whether there are no kinds but those in the Set, as in a cluster that was asked.
func (s *Set) Complete() bool { return !s.partial }

// Kinds returns the names of all kinds. They must not be changed.
func (s *Set) Kinds() kinds.Table { return s.table }

// An UnknownKindError says that a kind is not in a Set.
type UnknownKindError struct {
	Kind     schema.GroupVersionKind
	Hint     string // what was probably meant, such as `did you mean "apiVersion: apps/v1"?`, or ""
	MayExist bool   // it may be defined by a CustomResourceDefinition that is not in the Set, for example
}

func (e *UnknownKindError) Error() string {
	text := fmt.Sprintf("there is no kind %s in %s", e.Kind.Kind, e.Kind.GroupVersion())
	if e.MayExist {
		text = fmt.Sprintf("the kind %s in %s is not known", e.Kind.Kind, e.Kind.GroupVersion())
	}
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Kind returns a kind. The error is an [*UnknownKindError] if it is not in the Set; other errors mean that its schema cannot be read.
func (s *Set) Kind(of schema.GroupVersionKind) (*Kind, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.found[of]; ok {
		return k, nil
	}
	k, err := s.find(of)
	if err != nil {
		return nil, err
	}
	s.found[of] = k
	return k, nil
}

func (s *Set) find(of schema.GroupVersionKind) (*Kind, error) {
	r, ok := s.table.ByKind(of)
	if !ok {
		return nil, &UnknownKindError{of, s.table.KindHint(of), s.partial && kinds.MayExist(of.GroupVersion().String())}
	}
	if c, ok := s.custom[of]; ok {
		return &Kind{Resource: r, Custom: true, validator: c.validator}, nil
	}
	all, err := s.builtin(of.GroupVersion())
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s in %s: %w", of.Kind, of.GroupVersion(), err)
	}
	name, ok := all.nameOf(of)
	if !ok {
		return nil, fmt.Errorf("there is no schema of %s in %s", of.Kind, of.GroupVersion())
	}
	validator := validation.NewBuiltin(of, r.Namespaced, slices.Contains(r.Verbs, "get"), func() (*validation.Schema, error) { return all.resolved(name) })
	return &Kind{Resource: r, validator: validator}, nil
}

// Definitions returns the OpenAPI v3 definitions of kinds, and all to which they refer. The keys are the names in the references,
// "#/components/schemas/" and the name; [DefinitionOf] finds that of a kind. managedfields.NewTypeConverter takes them as they are.
// They must not be changed.
func (s *Set) Definitions(of ...schema.GroupVersionKind) (map[string]*spec.Schema, error) {
	found := map[string]*spec.Schema{}
	for _, kind := range of {
		if err := s.define(found, kind); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// define adds the definitions of a kind to found.
func (s *Set) define(found map[string]*spec.Schema, of schema.GroupVersionKind) error {
	if _, err := s.Kind(of); err != nil {
		return err
	}
	if c, ok := s.custom[of]; ok {
		name, definition, err := openAPI(c.crd, of)
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", c.crd.Name, err)
		}
		found[name] = definition
		all, err := embedded()
		if err != nil {
			return err
		}
		return all.closure(found, objectMeta)
	}
	all, err := s.builtin(of.GroupVersion())
	if err != nil {
		return err
	}
	name, _ := all.nameOf(of)
	return all.closure(found, name)
}

// A Kind is a kind with its schema.
type Kind struct {
	kinds.Resource
	Custom bool // it is defined by a CustomResourceDefinition

	validator *validation.Validator
}

// Validate returns what is wrong with an object of the kind, in the order of the fields. Unknown fields are problems too, since the
// API server drops them. It does not change the object.
func (k *Kind) Validate(object map[string]any) []Problem {
	var found []Problem
	for _, err := range k.validator.Validate(object) {
		p, ok := problemOf(err, object)
		follows := func(other Problem) bool { return other == p || other.Cause == WrongType && p.below(other) }
		if ok && !slices.ContainsFunc(found, follows) {
			found = append(found, p)
		}
	}
	return withoutMisspelled(explained(found, object))
}

// Default returns the object as an API server would store it: with the defaults in its schema, and without unknown fields. Many
// defaults of the kinds of Kubernetes are in the code of the API server and not in a schema; they are not set. Default does not change
// the object and does not validate it.
func (k *Kind) Default(object map[string]any) (map[string]any, error) {
	return k.validator.Default(object)
}
