package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CompositeController manages child objects for each object of a parent
// resource. For each parent, the server calls the sync hook with the parent
// and its observed children. The hook returns the children that should exist
// and the status of the parent. The hook is a script, which can be in this
// object itself, or a webhook.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=compositecontrollers,scope=Cluster,shortName=cc;cctl
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, this is the API of Metacontroller and was never submitted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the last edit of the controller runs"
// +kubebuilder:printcolumn:name="Language",type=string,JSONPath=`.status.script.language`,description="The language of the script that runs"
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents`,description="The number of parents of the controller"
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="ParentsSynced")].status`,description="Whether the last sync of every parent succeeded"
// +kubebuilder:printcolumn:name="Stored",type=string,JSONPath=`.status.conditions[?(@.type=="AnswersStored")].status`,description="Whether the API server stores all fields that the hooks return"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="The reason of the condition Ready"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="The message of the condition Ready"
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.failing.parents`,priority=1,description="The number of parents for which the last sync failed"
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.failing.since`,priority=1,description="How long parents have failed with this cause"
// +kubebuilder:printcolumn:name="Cause",type=string,JSONPath=`.status.failing.cause`,priority=1,description="The error that most of these parents share"
type CompositeController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// spec is the desired behavior of the controller: the resources that it
	// watches and manages, and its hooks.
	Spec CompositeControllerSpec `json:"spec"`

	// status is the observed state of the controller. Only the server writes it.
	Status ControllerStatus `json:"status,omitempty"`
}

// CompositeControllerSpec defines which resources a CompositeController
// watches and manages, and its hooks.
//
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.sync) || !has(self.hooks.sync.script) || has(self.hooks.sync.script.inline) || has(self.hooks.sync.script.file) || has(self.hooks.sync.script.configMapRef)",fieldPath=".hooks.sync.script",reason=FieldValueRequired,message="a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.finalize) || !has(self.hooks.finalize.script) || has(self.hooks.finalize.script.inline) || has(self.hooks.finalize.script.file) || has(self.hooks.finalize.script.configMapRef)",fieldPath=".hooks.finalize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.customize) || !has(self.hooks.customize.script) || has(self.hooks.customize.script.inline) || has(self.hooks.customize.script.file) || has(self.hooks.customize.script.configMapRef)",fieldPath=".hooks.customize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script"
type CompositeControllerSpec struct {
	// parentResource is the resource whose objects are the parents. For a resource
	// that has its own controller already, use a DecoratorController.
	ParentResource CompositeControllerParentResourceRule `json:"parentResource"`

	// childResources are the resources that the controller can create for a
	// parent, one rule for each. The hook does not get children of other
	// resources. If the list is empty, the controller writes only the status of
	// the parent.
	ChildResources []CompositeControllerChildResourceRule `json:"childResources,omitempty"`

	// script is the controller's script. Its functions named sync, finalize and
	// customize are the hooks of these names, unless hooks sets something else. If
	// it is not set, the controller has only the hooks that are listed in hooks.
	Script *ControllerScript `json:"script,omitempty"`

	// hooks configures single hooks: a webhook, a separate script, or the name of
	// a function in spec.script. The controller has every hook that is listed
	// here, and every hook that spec.script defines.
	Hooks *CompositeControllerHooks `json:"hooks,omitempty"`

	// endpointConfigs are connection settings for webhooks, by host. The server
	// uses the first entry whose host matches the URL of the webhook. It ignores
	// the whole entry if the webhook sets any of caBundle, clientTLS,
	// authorization and basicAuth itself. Without an entry, the server verifies
	// certificates with the system's root certificates and sends no credentials.
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitempty"`

	// resyncPeriodSeconds is the interval, in seconds, of the resync of every
	// parent. A value below 1 means 1. If it is not set, or longer than the
	// interval of the server's flag --cache-flush-interval, that interval is
	// used. In a resync a script is called only if something that it reads has
	// changed, or if it may see the time; see remember.
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	// generateSelector makes the server set the label controller-uid, with the UID
	// of the parent, on each child, and select the children of a parent by it. If
	// it is false, each parent needs a label selector in its spec.selector.
	// Defaults to false.
	GenerateSelector *bool `json:"generateSelector,omitempty"`

	ControllerSettings `json:",inline"`
}

// CompositeControllerParentResourceRule defines which objects are parents.
type CompositeControllerParentResourceRule struct {
	ResourceRule `json:",inline"`

	// labelSelector selects the parents of the controller by their labels. If a
	// parent stops matching, the server calls the finalize hook for it and then no
	// longer manages it. Defaults to all objects of the resource.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// revisionHistory defines which changes of a parent create a new revision. It
	// is used only if a child rule has a rolling update method. By default every
	// change of the parent's spec creates one.
	RevisionHistory *CompositeControllerRevisionHistory `json:"revisionHistory,omitempty"`

	// ignoreStatusChanges makes the server ignore changes that affect only the
	// status of the parent. Changes of labels, annotations and spec, deletion, and
	// resyncs always cause a sync. Defaults to false.
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// CompositeControllerRevisionHistory defines which changes of a parent create
// a new revision.
type CompositeControllerRevisionHistory struct {
	// fieldPaths are the fields of the parent whose changes roll out to one child
	// at a time, as paths such as spec.template. A change of any other field takes
	// effect on all children at once. Defaults to [spec], also if it is empty.
	FieldPaths []string `json:"fieldPaths,omitempty"`

	// scriptRevisions makes an edit of a script roll out like a change of the
	// fields in fieldPaths: each child stays at the version of the scripts that
	// created it until the rollout updates that child. All scripts of the
	// controller count: spec.script, and those that hooks have of their own. If it
	// is false, an edit of a script takes effect on all children at once. Defaults
	// to false.
	ScriptRevisions bool `json:"scriptRevisions,omitempty"`
}

// CompositeControllerChildResourceRule names a resource of children, and
// defines how they are updated.
type CompositeControllerChildResourceRule struct {
	ResourceRule `json:",inline"`

	// updateStrategy defines how to update children that differ from what the hook
	// returned. If it is not set, they are not updated.
	UpdateStrategy *CompositeControllerChildUpdateStrategy `json:"updateStrategy,omitempty"`

	ChildOwnership `json:",inline"`
}

// CompositeControllerChildUpdateStrategy defines how to update children that
// differ from what the hook returned.
type CompositeControllerChildUpdateStrategy struct {
	// method is the update method. OnDelete: a child is not updated; after
	// somebody deletes it, it is created again as the hook returns it. Recreate:
	// all children that differ are deleted and created again at once. InPlace: all
	// children that differ are updated at once. RollingRecreate and
	// RollingInPlace: the same as Recreate and InPlace, but for one child at a
	// time, and only while the children that were updated before are healthy.
	// Defaults to OnDelete.
	Method ChildUpdateMethod `json:"method,omitempty"`

	// statusChecks defines when a child is healthy, for the rolling methods. By
	// default a child is healthy when it does not differ from what the hook
	// returned.
	StatusChecks ChildUpdateStatusChecks `json:"statusChecks,omitempty"`
}

// ChildUpdateStatusChecks defines when a child is healthy.
type ChildUpdateStatusChecks struct {
	// conditions are checks on the conditions in the status of the child. All of
	// them must pass. Defaults to none.
	Conditions []StatusConditionCheck `json:"conditions,omitempty"`
}

// StatusConditionCheck is a check on one condition in the status of a child.
type StatusConditionCheck struct {
	// type is the type of the condition, such as Ready. The check fails for a
	// child that has no condition of this type.
	Type string `json:"type"`

	// status is the required status of the condition, such as "True". If it is not
	// set, every status passes.
	Status *string `json:"status,omitempty"`

	// reason is the required reason of the condition. If it is not set, every
	// reason passes.
	Reason *string `json:"reason,omitempty"`
}

// CompositeControllerHooks are the hooks of a CompositeController.
type CompositeControllerHooks struct {
	// sync is the hook that is called after each change of a parent or of its
	// children. It gets both, and returns the children that should exist and the
	// status of the parent. If only the finalize hook exists, the controller
	// finalizes parents that are being deleted. It does not change other parents,
	// or their children.
	Sync *Hook `json:"sync,omitempty"`

	// finalize is the hook that is called in place of sync while a parent is being
	// deleted or no longer matches the label selector, until it returns finalized:
	// true. If this hook exists, parents have a finalizer, so that none is deleted
	// before the hook was called.
	Finalize *Hook `json:"finalize,omitempty"`

	// customize is the hook that returns which other objects the sync and finalize
	// hooks get, besides the children. Without it, they get no other objects.
	Customize *Hook `json:"customize,omitempty"`

	// preUpdateChild is accepted, as in Metacontroller, but never called.
	PreUpdateChild *UncalledHook `json:"preUpdateChild,omitempty"`

	// postUpdateChild is accepted, as in Metacontroller, but never called.
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
