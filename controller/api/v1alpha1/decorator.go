package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A DecoratorController adds behaviour to resources that exist already: for
// every object it targets, its sync hook is given the object and what was
// attached to it so far, and answers with labels, annotations and a status to
// set and with the attachments that should exist. The hook is a script in the
// object itself, or a webhook.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=decoratorcontrollers,scope=Cluster,shortName=dec;decorators
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, this is the API of Metacontroller and was never submitted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the controller runs, with the spec that was last written"
// +kubebuilder:printcolumn:name="Language",type=string,JSONPath=`.status.script.language`,description="The language of the script that runs"
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents`,description="How many objects the controller looks after"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready is what it is"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="The same in words"
type DecoratorController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// What the controller targets, what it attaches, and the hooks that decide.
	Spec DecoratorControllerSpec `json:"spec"`

	// What the server made of the spec. Only the server writes it.
	Status ControllerStatus `json:"status,omitempty"`
}

// DecoratorControllerSpec says what a DecoratorController targets, what it
// attaches, and the hooks that decide.
//
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.sync) || !has(self.hooks.sync.script) || has(self.hooks.sync.script.inline) || has(self.hooks.sync.script.file) || has(self.hooks.sync.script.configMapRef)",fieldPath=".hooks.sync.script",reason=FieldValueRequired,message="a hook that only names a function needs a script to find it in: give this hook inline, file or configMapRef, or the controller a spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.finalize) || !has(self.hooks.finalize.script) || has(self.hooks.finalize.script.inline) || has(self.hooks.finalize.script.file) || has(self.hooks.finalize.script.configMapRef)",fieldPath=".hooks.finalize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script to find it in: give this hook inline, file or configMapRef, or the controller a spec.script"
// +kubebuilder:validation:XValidation:rule="has(self.script) || !has(self.hooks) || !has(self.hooks.customize) || !has(self.hooks.customize.script) || has(self.hooks.customize.script.inline) || has(self.hooks.customize.script.file) || has(self.hooks.customize.script.configMapRef)",fieldPath=".hooks.customize.script",reason=FieldValueRequired,message="a hook that only names a function needs a script to find it in: give this hook inline, file or configMapRef, or the controller a spec.script"
type DecoratorControllerSpec struct {
	// The resources whose objects are decorated, one rule for each.
	Resources []DecoratorControllerResourceRule `json:"resources"`

	// The resources that the controller may attach to an object, one rule for
	// each. Attachments of a resource that is not listed are not observed. Without
	// any rule the controller writes only to the objects themselves.
	Attachments []DecoratorControllerAttachmentRule `json:"attachments,omitempty"`

	// The controller's script. Its functions named sync, finalize and customize
	// are the hooks of these names, unless hooks says otherwise. Without it, the
	// hooks are those that hooks lists.
	Script *ControllerScript `json:"script,omitempty"`

	// Settings for single hooks: a webhook, a script of the hook's own, or which
	// function of spec.script serves it. A hook listed here exists; one that is
	// not listed exists if spec.script defines it.
	Hooks *DecoratorControllerHooks `json:"hooks,omitempty"`

	// Connection settings for webhooks, by host. The first entry whose host
	// matches a webhook's URL is used, as a whole, unless the webhook has such
	// settings itself, of whichever kind. Without an entry, connections use the
	// system's root certificates and no credentials.
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitempty"`

	// How often every object is synced although nothing changed, in seconds; below
	// 1 is 1. When absent, only changes, and hooks that ask for it in their
	// answers, cause a sync.
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`

	ControllerSettings `json:",inline"`
}

// A DecoratorControllerResourceRule names a resource whose objects are
// decorated, and which of them: those that match both selectors.
type DecoratorControllerResourceRule struct {
	ResourceRule `json:",inline"`

	// Which objects are decorated, by their labels; all of them when absent.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Which objects are decorated, by their annotations; all of them when absent.
	AnnotationSelector *AnnotationSelector `json:"annotationSelector,omitempty"`

	// Whether a change of nothing but the object's status goes unnoticed. Changes
	// of labels, annotations and spec, deletion, and resyncs always cause a sync.
	// False when absent.
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// An AnnotationSelector selects objects by their annotations. All of its
// requirements must be met.
type AnnotationSelector struct {
	// Annotations that must be there with exactly these values. None when absent.
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`

	// Requirements on annotations, each with a key, an operator (In, NotIn, Exists
	// or DoesNotExist) and, for In and NotIn, values. None when absent.
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// A DecoratorControllerAttachmentRule names a resource of which attachments
// are made, and how they are updated.
type DecoratorControllerAttachmentRule struct {
	ResourceRule `json:",inline"`

	// How attachments that differ from what the hook wants are brought there. When
	// absent they are left as they are.
	UpdateStrategy *DecoratorControllerAttachmentUpdateStrategy `json:"updateStrategy,omitempty"`
}

// A DecoratorControllerAttachmentUpdateStrategy says how attachments that
// differ from what the hook wants are brought there.
type DecoratorControllerAttachmentUpdateStrategy struct {
	// OnDelete leaves an attachment as it is until someone deletes it. Recreate
	// deletes it, and InPlace updates it, at once. Attachments do not roll:
	// RollingRecreate acts as Recreate and RollingInPlace as InPlace. OnDelete
	// when absent.
	Method ChildUpdateMethod `json:"method,omitempty"`
}

// DecoratorControllerHooks are settings for single hooks of a
// DecoratorController.
type DecoratorControllerHooks struct {
	// Asked whenever something changed: given the object and its attachments, it
	// answers with labels, annotations and a status to set and with the
	// attachments that should exist. A controller without it only finalizes: other
	// objects, and their attachments, are left alone.
	Sync *Hook `json:"sync,omitempty"`

	// Asked in place of sync while an object is being deleted or no longer matches
	// the selectors, until it answers finalized: true. While it exists, objects
	// carry a finalizer, so that none goes unasked.
	Finalize *Hook `json:"finalize,omitempty"`

	// Asked which other objects, that are no attachments, the other hooks need to
	// see. Without it they see none.
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
