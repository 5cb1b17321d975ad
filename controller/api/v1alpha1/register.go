package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names of the API.
const (
	Group   = "metacontroller.k8s.io"
	Version = "v1alpha1"

	KindCompositeController = "CompositeController"
	KindDecoratorController = "DecoratorController"
	KindControllerRevision  = "ControllerRevision"
)

// The same names in the forms that clients take.
var (
	GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

	CompositeControllers = GroupVersion.WithResource("compositecontrollers")
	DecoratorControllers = GroupVersion.WithResource("decoratorcontrollers")
	ControllerRevisions  = GroupVersion.WithResource("controllerrevisions")
)

// AddToScheme registers the kinds and their lists with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&CompositeController{}, &CompositeControllerList{},
		&DecoratorController{}, &DecoratorControllerList{},
		&ControllerRevision{}, &ControllerRevisionList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
