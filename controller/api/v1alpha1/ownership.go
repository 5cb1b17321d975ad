package v1alpha1

// ChildOwnership defines how the children of a rule belong to their parent.
type ChildOwnership struct {
	// ownerReference defines the owner reference of each child to its parent. If
	// it is not set, the parent is the controller of the child. Metacontroller
	// does not have this field.
	OwnerReference *ChildOwnerReference `json:"ownerReference,omitempty"`

	// adoptionPolicy defines which existing objects become children. If it is not
	// set: in a CompositeController an object without a controller that the
	// selector of the parent matches, in a DecoratorController none. Never: none.
	// IfUnowned: in addition, an object without a controller that has the name of
	// a child that the hook returns, whatever its labels are. Force: in addition,
	// an object with such a name that belongs to another owner. Its reference to
	// that owner is removed, once for each object: if it belongs to another owner
	// later, it is not taken again, and an event SyncError and the condition
	// ParentsSynced name that owner. Metacontroller does not have this field.
	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy,omitempty"`
}

// AdoptionPolicy defines which existing objects become children.
//
// +kubebuilder:validation:Enum=Never;IfUnowned;Force
type AdoptionPolicy string

// The values of AdoptionPolicy.
const (
	AdoptNever     AdoptionPolicy = "Never"
	AdoptIfUnowned AdoptionPolicy = "IfUnowned"
	AdoptForce     AdoptionPolicy = "Force"
)

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
