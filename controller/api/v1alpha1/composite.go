package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A CompositeController manages child objects on behalf of a parent resource:
// for every parent, its sync hook is given the parent and the children
// observed, and answers with the children that should exist and the parent's
// status. The hook is a script in the object itself, or a webhook.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=compositecontrollers,scope=Cluster,shortName=cc;cctl
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, this is the API of Metacontroller and was never submitted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the controller runs, with the spec that was last written"
// +kubebuilder:printcolumn:name="Language",type=string,JSONPath=`.status.script.language`,description="The language of the script that runs"
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents`,description="How many parent objects the controller looks after"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready is what it is"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="The same in words"
type CompositeController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// What the controller watches, what it manages, and the hooks that decide.
	Spec CompositeControllerSpec `json:"spec"`

	// What the server made of the spec. Only the server writes it.
	Status ControllerStatus `json:"status,omitempty"`
}

// CompositeControllerSpec says what a CompositeController watches, what it
// manages, and the hooks that decide.
//
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.sync) || !has(self.hooks.sync.script) || has(self.hooks.sync.script.inline) || has(self.hooks.sync.script.file) || has(self.hooks.sync.script.configMapRef)",fieldPath=".hooks.sync.script",reason=FieldValueRequired,message="a hook that only names a function needs a script to find it in: give this hook inline, file or configMapRef, or the controller a spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.finalize) || !has(self.hooks.finalize.script) || has(self.hooks.finalize.script.inline) || has(self.hooks.finalize.script.file) || has(self.hooks.finalize.script.configMapRef)",fieldPath=".hooks.finalize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script to find it in: give this hook inline, file or configMapRef, or the controller a spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.customize) || !has(self.hooks.customize.script) || has(self.hooks.customize.script.inline) || has(self.hooks.customize.script.file) || has(self.hooks.customize.script.configMapRef)",fieldPath=".hooks.customize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script to find it in: give this hook inline, file or configMapRef, or the controller a spec.script"
type CompositeControllerSpec struct {
	// The resource whose objects are the parents. A resource that already has a
	// controller of its own is better served by a DecoratorController.
	ParentResource CompositeControllerParentResourceRule `json:"parentResource"`

	// The resources that the controller may create for a parent, one rule for
	// each. Children of a resource that is not listed are not observed. Without
	// any rule the controller writes only the parent's status.
	ChildResources []CompositeControllerChildResourceRule `json:"childResources,omitempty"`

	// The controller's script. Its functions named sync, finalize and customize
	// are the hooks of these names, unless hooks says otherwise. Without it, the
	// hooks are those that hooks lists.
	Script *ControllerScript `json:"script,omitempty"`

	// Settings for single hooks: a webhook, a script of the hook's own, or which
	// function of spec.script serves it. A hook listed here exists; one that is
	// not listed exists if spec.script defines it.
	Hooks *CompositeControllerHooks `json:"hooks,omitempty"`

	// Connection settings for webhooks, by host. The first entry whose host
	// matches a webhook's URL is used, as a whole, unless the webhook has such
	// settings itself, of whichever kind. Without an entry, connections use the
	// system's root certificates and no credentials.
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitempty"`

	// How often every parent is synced although nothing changed, in seconds; below
	// 1 is 1. When absent, only changes, and hooks that ask for it in their
	// answers, cause a sync.
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// Whether children are told apart by a label controller-uid with the parent's
	// UID, which is put on each, in place of the selector that every parent
	// otherwise has in its spec.selector. False when absent.
	GenerateSelector *bool `json:"generateSelector,omitempty"`

	ControllerSettings `json:",inline"`
}

// A CompositeControllerParentResourceRule names the resource whose objects are
// parents, and which of them.
type CompositeControllerParentResourceRule struct {
	ResourceRule `json:",inline"`

	// Which parents the controller looks after; all of them when absent. A parent
	// that no longer matches is given to the finalize hook and then let go.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Which changes of a parent make a new revision, if a child rule updates by
	// rolling. When absent, every change of the parent's spec does.
	RevisionHistory *CompositeControllerRevisionHistory `json:"revisionHistory,omitempty"`

	// Whether a change of nothing but the parent's status goes unnoticed. Changes
	// of labels, annotations and spec, deletion, and resyncs always cause a sync.
	// False when absent.
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// CompositeControllerRevisionHistory says which changes of a parent make a new
// revision.
type CompositeControllerRevisionHistory struct {
	// The fields of the parent that roll out step by step, as paths such as
	// spec.template; a change elsewhere reaches all children at once. [spec] when
	// absent or empty.
	FieldPaths []string `json:"fieldPaths,omitempty"`

	// Whether an edit of the script rolls out as an edit of these fields does:
	// children stay with the version of the script that made them until it is
	// their turn. When false or absent, an edited script serves all children at
	// once.
	ScriptRevisions bool `json:"scriptRevisions,omitempty"`
}

// A CompositeControllerChildResourceRule names a resource of which children
// are made, and how they are updated.
type CompositeControllerChildResourceRule struct {
	ResourceRule `json:",inline"`

	// How children that differ from what the hook wants are brought there. When
	// absent they are left as they are.
	UpdateStrategy *CompositeControllerChildUpdateStrategy `json:"updateStrategy,omitempty"`
}

// A CompositeControllerChildUpdateStrategy says how children that differ from
// what the hook wants are brought there.
type CompositeControllerChildUpdateStrategy struct {
	// OnDelete leaves a child as it is until someone deletes it. Recreate deletes
	// it, and InPlace updates it, at once. RollingRecreate and RollingInPlace do
	// the same to one child at a time, and wait until those already moved are
	// healthy. OnDelete when absent.
	Method ChildUpdateMethod `json:"method,omitempty"`

	// What makes a child healthy, for the rolling methods. When absent, a child is
	// healthy once it is as the hook wants it.
	StatusChecks ChildUpdateStatusChecks `json:"statusChecks,omitempty"`
}

// ChildUpdateStatusChecks says what makes a child healthy.
type ChildUpdateStatusChecks struct {
	// Conditions of the child's status that must all hold. None when absent.
	Conditions []StatusConditionCheck `json:"conditions,omitempty"`
}

// A StatusConditionCheck says what one condition in the child's status must
// be.
type StatusConditionCheck struct {
	// The condition's type, such as Ready. A child without a condition of this
	// type fails the check.
	Type string `json:"type"`

	// The status that it must have, such as "True". Any will do when absent.
	Status *string `json:"status,omitempty"`

	// The reason that it must have. Any will do when absent.
	Reason *string `json:"reason,omitempty"`
}

// CompositeControllerHooks are settings for single hooks of a
// CompositeController.
type CompositeControllerHooks struct {
	// Asked whenever something changed: given the parent and its children, it
	// answers with the children that should exist and the parent's status. A
	// controller without it only finalizes: other parents, and their children, are
	// left alone.
	Sync *Hook `json:"sync,omitempty"`

	// Asked in place of sync while a parent is being deleted or no longer matches
	// the label selector, until it answers finalized: true. While it exists,
	// parents carry a finalizer, so that none goes unasked.
	Finalize *Hook `json:"finalize,omitempty"`

	// Asked which other objects, that are no children, the other hooks need to
	// see. Without it they see none.
	Customize *Hook `json:"customize,omitempty"`

	// Accepted, as by Metacontroller, and never called.
	PreUpdateChild *UncalledHook `json:"preUpdateChild,omitempty"`

	// Accepted, as by Metacontroller, and never called.
	PostUpdateChild *UncalledHook `json:"postUpdateChild,omitempty"`
}

// CompositeControllerList is a list of CompositeControllers.
//
// +kubebuilder:object:root=true
type CompositeControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []CompositeController `json:"items"`
}
