package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A ControllerRevision is one version of a parent during a rolling update:
// what its revisioned fields were, and which children are at this version. The
// server makes, changes and deletes them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controllerrevisions,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, this is the API of Metacontroller and was never submitted"
type ControllerRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// The parent's revisioned fields, each at its path, as they were in this
	// version. An object of any shape.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	ParentPatch runtime.RawExtension `json:"parentPatch"`

	// The children that are at this version, by kind. None when absent.
	Children []ControllerRevisionChildren `json:"children,omitempty"`
}

// ControllerRevisionChildren lists the children of one kind that are at a
// revision.
type ControllerRevisionChildren struct {
	// The API group of the children, without a version; empty for the core group.
	APIGroup string `json:"apiGroup"`

	// The kind of the children, such as Pod.
	Kind string `json:"kind"`

	// The names of the children.
	Names []string `json:"names"`
}

// ControllerRevisionList is a list of ControllerRevisions.
//
// +kubebuilder:object:root=true
type ControllerRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []ControllerRevision `json:"items"`
}
