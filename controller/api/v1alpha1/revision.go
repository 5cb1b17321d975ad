package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerRevision is one version of a parent during a rolling update. It
// holds the values of the revisioned fields, and lists the children that are
// at this version. The server creates, updates and deletes
// ControllerRevisions.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controllerrevisions,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, this is the API of Metacontroller and was never submitted"
type ControllerRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// parentPatch holds the revisioned fields of the parent, each at its path,
	// with the values of this version.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	ParentPatch runtime.RawExtension `json:"parentPatch"`

	// children are the children that are at this version, by kind. Defaults to
	// none.
	Children []ControllerRevisionChildren `json:"children,omitempty"`
}

// ControllerRevisionChildren lists the children of one kind that are at a
// version.
type ControllerRevisionChildren struct {
	// apiGroup is the API group of the children, without a version. It is empty
	// for the core group.
	APIGroup string `json:"apiGroup"`

	// kind is the kind of the children, such as Pod.
	Kind string `json:"kind"`

	// names are the names of the children.
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
