package kube

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// An Offline is a Finder without an API server. It knows the resources in Kinds, and, by guessing their plural names, those of the
// kinds in Seen.
type Offline struct {
	Kinds kinds.Table                                 // of Kubernetes, of definitions, or of a cluster
	Seen  []object.Kind                               // kinds of objects that exist; their plural names are guessed
	Known map[schema.GroupVersionResource]object.Kind // kinds whose plural names are known
}

// ByName implements Finder.
func (f *Offline) ByName(apiVersion, plural string) (Resource, error) {
	gv, err := parseAPIVersion(apiVersion)
	if err != nil {
		return Resource{}, err
	}
	if found, ok := f.Kinds.ByName(apiVersion, plural); ok {
		return resourceOf(found), nil
	}
	resource := gv.WithResource(plural)
	known, isKnown := f.Known[resource]
	for _, kind := range f.Seen {
		guess := kind.GroupVersion().WithResource(kinds.Plural(kind.Kind))
		if guess == resource && !isKnown {
			known, isKnown = kind, true
		}
		// Without its definition a plural name may be anything, but not the name of the kind.
		if kind.GroupVersion() == gv && guess.Resource != plural && strings.EqualFold(kind.Kind, plural) {
			return Resource{}, &UnknownResourceError{APIVersion: apiVersion, Name: plural, Hint: fmt.Sprintf("did you mean %q?", "resource: "+guess.Resource)}
		}
	}
	if isKnown {
		return Resource{resource, known.Kind, true, true}, nil
	}
	return Resource{}, f.unknown(apiVersion, plural)
}

// unknown returns the error for a resource that is not known.
func (f *Offline) unknown(apiVersion, plural string) error {
	return &UnknownResourceError{apiVersion, plural, f.Kinds.ResourceHint(apiVersion, plural), kinds.MayExist(apiVersion)}
}

// An UnknownResourceError says that a Finder without an API server does not know a resource.
type UnknownResourceError struct {
	APIVersion, Name string
	Hint             string // what was probably meant, such as `did you mean "resource: pods"?`, or ""
	MayExist         bool   // it may be defined by a CustomResourceDefinition, for example
}

func (e *UnknownResourceError) Error() string {
	text, mark := fmt.Sprintf("there is no resource %q in %s", e.Name, e.APIVersion), ": "
	if e.MayExist {
		text, mark = fmt.Sprintf("what kind is resource %q in %s? give its CustomResourceDefinition, or an object of it", e.Name, e.APIVersion), "; "
	}
	if e.Hint != "" {
		text += mark + e.Hint
	}
	return text
}
