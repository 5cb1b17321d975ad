package v1alpha1

// ChildOwnership defines how the children of a rule belong to their parent.
type ChildOwnership struct {
	// ownerReference defines the owner reference of each child to its parent. If
	// it is not set, the parent is the controller of the child. Metacontroller
	// does not have this field.
	OwnerReference *ChildOwnerReference `json:"ownerReference,omitempty"`
}

// ChildOwnerReference defines the owner reference of a child to its parent.
type ChildOwnerReference struct {
	// controller defines whether the parent is the controller of the child. An
	// object has at most one controller. With false, the child has an owner
	// reference without controller: true, and the annotation
	// metacontroller.k8s.io/owner-uid with the UID of the parent, so that another
	// program, such as Cluster API, can be the controller of the child. The child
	// is deleted with its owners, and no other parent adopts it. Defaults to true.
	Controller *bool `json:"controller,omitempty"`
}
