package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DecoratorController adds behavior to existing resources. For each object
// that it selects, the server calls the sync hook with the object and its
// observed attachments. The hook returns labels, annotations and a status to
// set on the object, and the attachments that should exist. The hook is a
// script, which can be in this object itself, or a webhook.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=decoratorcontrollers,scope=Cluster,shortName=dec;decorators
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, this is the API of Metacontroller and was never submitted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the last edit of the controller runs"
// +kubebuilder:printcolumn:name="Language",type=string,JSONPath=`.status.script.language`,description="The language of the script that runs"
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents`,description="The number of objects that the controller decorates"
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="ParentsSynced")].status`,description="Whether the last sync of every parent succeeded"
// +kubebuilder:printcolumn:name="Stored",type=string,JSONPath=`.status.conditions[?(@.type=="AnswersStored")].status`,description="Whether the API server stores all fields that the hooks return"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="The reason of the condition Ready"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="The message of the condition Ready"
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.failing.parents`,priority=1,description="The number of parents for which the last sync failed"
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.failing.since`,priority=1,description="How long parents have failed with this cause"
// +kubebuilder:printcolumn:name="Cause",type=string,JSONPath=`.status.failing.cause`,priority=1,description="The error that most of these parents share"
type DecoratorController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// spec is the desired behavior of the controller: the resources that it
	// decorates and attaches, and its hooks.
	Spec DecoratorControllerSpec `json:"spec"`

	// status is the observed state of the controller. Only the server writes it.
	Status ControllerStatus `json:"status,omitempty"`
}

// DecoratorControllerSpec defines which resources a DecoratorController
// decorates and attaches, and its hooks.
//
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.sync) || !has(self.hooks.sync.script) || has(self.hooks.sync.script.inline) || has(self.hooks.sync.script.file) || has(self.hooks.sync.script.configMapRef)",fieldPath=".hooks.sync.script",reason=FieldValueRequired,message="a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.finalize) || !has(self.hooks.finalize.script) || has(self.hooks.finalize.script.inline) || has(self.hooks.finalize.script.file) || has(self.hooks.finalize.script.configMapRef)",fieldPath=".hooks.finalize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.customize) || !has(self.hooks.customize.script) || has(self.hooks.customize.script.inline) || has(self.hooks.customize.script.file) || has(self.hooks.customize.script.configMapRef)",fieldPath=".hooks.customize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script"
type DecoratorControllerSpec struct {
	// resources are the resources whose objects are decorated, one rule for each.
	Resources []DecoratorControllerResourceRule `json:"resources"`

	// attachments are the resources that the controller can create for an object,
	// one rule for each. The hook does not get attachments of other resources. If
	// the list is empty, the controller writes only the objects themselves.
	Attachments []DecoratorControllerAttachmentRule `json:"attachments,omitempty"`

	// script is the controller's script. Its functions named sync, finalize and
	// customize are the hooks of these names, unless hooks sets something else. If
	// it is not set, the controller has only the hooks that are listed in hooks.
	Script *ControllerScript `json:"script,omitempty"`

	// hooks configures single hooks: a webhook, a separate script, or the name of
	// a function in spec.script. The controller has every hook that is listed
	// here, and every hook that spec.script defines.
	Hooks *DecoratorControllerHooks `json:"hooks,omitempty"`

	// endpointConfigs are connection settings for webhooks, by host. The server
	// uses the first entry whose host matches the URL of the webhook. It ignores
	// the whole entry if the webhook sets any of caBundle, clientTLS,
	// authorization and basicAuth itself. Without an entry, the server verifies
	// certificates with the system's root certificates and sends no credentials.
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitempty"`

	// resyncPeriodSeconds is the interval, in seconds, of the resync of every
	// object. A value below 1 means 1. If it is not set, or longer than the
	// interval of the server's flag --cache-flush-interval, that interval is
	// used. In a resync a script is called only if something that it reads has
	// changed, or if it may see the time; see remember.
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	ControllerSettings `json:",inline"`
}

// DecoratorControllerResourceRule defines which objects of a resource are
// decorated: those that match both selectors.
type DecoratorControllerResourceRule struct {
	ResourceRule `json:",inline"`

	// labelSelector selects the objects to decorate by their labels. Defaults to
	// all objects of the resource.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// annotationSelector selects the objects to decorate by their annotations.
	// Defaults to all objects of the resource.
	AnnotationSelector *AnnotationSelector `json:"annotationSelector,omitempty"`

	// ignoreStatusChanges makes the server ignore changes that affect only the
	// status of the object. Changes of labels, annotations and spec, deletion, and
	// resyncs always cause a sync. Defaults to false.
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// AnnotationSelector selects objects by their annotations. An object must meet
// all requirements.
type AnnotationSelector struct {
	// matchAnnotations are annotations that an object must have, with exactly
	// these values. Defaults to none.
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`

	// matchExpressions are requirements on annotations. Each has a key, an
	// operator (In, NotIn, Exists or DoesNotExist) and, for In and NotIn, values.
	// Defaults to none.
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// DecoratorControllerAttachmentRule names a resource of attachments, and
// defines how they are updated.
type DecoratorControllerAttachmentRule struct {
	ResourceRule `json:",inline"`

	// updateStrategy defines how to update attachments that differ from what the
	// hook returned. If it is not set, they are not updated.
	UpdateStrategy *DecoratorControllerAttachmentUpdateStrategy `json:"updateStrategy,omitempty"`

	ChildOwnership `json:",inline"`
}

// DecoratorControllerAttachmentUpdateStrategy defines how to update
// attachments that differ from what the hook returned.
type DecoratorControllerAttachmentUpdateStrategy struct {
	// method is the update method. OnDelete: an attachment is not updated; after
	// somebody deletes it, it is created again as the hook returns it. Recreate:
	// it is deleted and created again. InPlace: it is updated. There is no rolling
	// update of attachments: RollingRecreate has the same effect as Recreate, and
	// RollingInPlace the same as InPlace. Defaults to OnDelete.
	Method ChildUpdateMethod `json:"method,omitempty"`
}

// DecoratorControllerHooks are the hooks of a DecoratorController.
type DecoratorControllerHooks struct {
	// sync is the hook that is called after each change of an object or of its
	// attachments. It gets both, and returns labels, annotations and a status to
	// set, and the attachments that should exist. If only the finalize hook
	// exists, the controller finalizes objects that are being deleted. It does not
	// change other objects, or their attachments.
	Sync *Hook `json:"sync,omitempty"`

	// finalize is the hook that is called in place of sync while an object is
	// being deleted or no longer matches the selectors, until it returns
	// finalized: true. If this hook exists, the objects have a finalizer, so that
	// none is deleted before the hook was called.
	Finalize *Hook `json:"finalize,omitempty"`

	// customize is the hook that returns which other objects the sync and finalize
	// hooks get, besides the attachments. Without it, they get no other objects.
	Customize *Hook `json:"customize,omitempty"`
}

// DecoratorControllerList is a list of DecoratorControllers.
//
// +kubebuilder:object:root=true
type DecoratorControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []DecoratorController `json:"items"`
}
