package uninstall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/claim"
	"metascript/controller/finalizers"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/controller/store"
)

// Left is what servers have left in a cluster. Its JSON form is part of the output of "metascript uninstall -o json".
type Left struct {
	Controllers   []Object    `json:"controllers"`
	Finalizers    []Finalizer `json:"finalizers"`
	StoredScripts []Object    `json:"storedScripts"`       // ConfigMaps
	Revisions     int         `json:"controllerRevisions"` // deleted with their CustomResourceDefinition
	Definitions   []Object    `json:"definitions"`

	// The objects below are not removed.

	WithoutOwner []Object `json:"withoutOwner"` // they were children of a parent, and have no controller reference any more
	ByHand       []string `json:"byHand"`       // commands that delete the server

	servers servers
}

// An Object names an object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name)
}

// A Finalizer is a finalizer of a controller on a parent. The parent cannot be deleted before it is removed.
type Finalizer struct {
	Object
	Finalizer  string `json:"finalizer"`
	Controller string `json:"controller"` // its kind and name
	Deleting   bool   `json:"deleting"`   // the parent is being deleted
}

func (f Finalizer) String() string {
	text := fmt.Sprintf("%s: %s", f.Object, f.Finalizer)
	if f.Deleting {
		text += ", is being deleted"
	}
	return text
}

// newLeft returns a Left whose lists are not null in JSON.
func newLeft() *Left {
	return &Left{Controllers: []Object{}, Finalizers: []Finalizer{}, StoredScripts: []Object{}, Definitions: []Object{}, WithoutOwner: []Object{}, ByHand: []string{}}
}

// Empty reports whether there is nothing to remove.
func (l *Left) Empty() bool { return l.first() == "" }

// first describes the first object that is to be removed; "" if there is none.
func (l *Left) first() string {
	for _, of := range [][]Object{l.Controllers, l.StoredScripts, l.Definitions} {
		if len(of) > 0 {
			return of[0].String()
		}
	}
	if len(l.Finalizers) > 0 {
		return l.Finalizers[0].String()
	}
	return ""
}

// add adds an object of the cluster, if it belongs here.
func (l *Left) add(r kube.Resource, o *metav1.PartialObjectMetadata) {
	of := Object{r.GroupVersion().String(), r.Kind, o.Namespace, o.Name}
	for _, finalizer := range o.Finalizers {
		if by, ok := finalizers.ControllerOf(finalizer); ok {
			l.Finalizers = append(l.Finalizers, Finalizer{of, finalizer, by.String(), o.DeletionTimestamp != nil})
		}
	}
	switch {
	case r.GroupResource() == spec.Resources[r.Kind].GroupResource():
		l.Controllers = append(l.Controllers, of)
	case r.GroupResource() == v1alpha1.ControllerRevisions.GroupResource():
		l.Revisions++
	case r.GroupResource() == definitions.GroupResource() && strings.HasSuffix(o.Name, "."+v1alpha1.GroupVersion.Group):
		l.Definitions = append(l.Definitions, of)
	case r.GroupResource() == configMaps.GroupResource() && (o.Labels[store.ScriptLabel] != "" || o.Labels[store.LastGoodLabel] != ""):
		l.StoredScripts = append(l.StoredScripts, of)
	case wasChild(o) && object.OwnerOfMetadata(o) == nil:
		l.WithoutOwner = append(l.WithoutOwner, of)
	default:
		l.servers.add(r, o)
	}
}

// wasChild reports whether a server has written an object as a child.
func wasChild(o *metav1.PartialObjectMetadata) bool {
	for _, name := range []string{plan.LastApplied, plan.AppliedDigest, claim.DecoratorAnnotation, object.OwnerAnnotation} {
		if _, ok := o.Annotations[name]; ok {
			return true
		}
	}
	return false
}

// finish sorts the objects of each kind by name.
func (l *Left) finish() {
	for _, of := range [][]Object{l.Controllers, l.StoredScripts, l.Definitions, l.WithoutOwner} {
		slices.SortFunc(of, compare)
	}
	slices.SortFunc(l.Finalizers, func(a, b Finalizer) int {
		return cmp.Or(compare(a.Object, b.Object), cmp.Compare(a.Finalizer, b.Finalizer))
	})
	l.ByHand = l.servers.commands()
}

func compare(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// join adds what other has that is to be removed.
func (l *Left) join(other *Left) {
	l.Controllers = append(l.Controllers, other.Controllers...)
	l.Finalizers = append(l.Finalizers, other.Finalizers...)
	l.StoredScripts = append(l.StoredScripts, other.StoredScripts...)
	l.Definitions = append(l.Definitions, other.Definitions...)
	l.Revisions += other.Revisions
}
