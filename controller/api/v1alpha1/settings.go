package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControllerSettings are the settings that both kinds of controllers have in
// addition to their hooks.
type ControllerSettings struct {
	// isolation defines where scripts run. InProcess: in the server's own process,
	// with checks against all known attacks. Process: with the same checks, but in
	// worker processes. The operating system limits their memory, their CPU time
	// and what they may do, so that unknown attacks do no harm outside of them;
	// each call takes longer. If the server runs with --isolation=Process, all
	// scripts run this way. A server that cannot start worker processes does not
	// run a controller that requests Process. Defaults to InProcess.
	Isolation Isolation `json:"isolation,omitempty"`

	// applyStrategy defines how objects are updated. DynamicApply: by a three-way
	// merge with what the hook returned last, which is stored in an annotation.
	// ServerSideApply: by server-side apply of the API server, with the field
	// manager of this server. Defaults to the server's flag --apply-strategy,
	// which is dynamic-apply unless it is set.
	ApplyStrategy ApplyStrategy `json:"applyStrategy,omitempty"`

	// maxConcurrentSyncs is the maximum number of parents of this controller that
	// are synced at the same time. Defaults to the server's flag --workers.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrentSyncs *int32 `json:"maxConcurrentSyncs,omitempty"`

	// shadow is a candidate for spec.script. It is called beside spec.script, and
	// nothing that it answers is written. The condition ShadowAgrees and
	// status.shadow say whether its answers are those of the script that runs. An
	// edit of this field has no effect on the parents. The command metascript
	// promote moves the candidate to spec.script.
	Shadow *ShadowScript `json:"shadow,omitempty"`

	// paused stops the controller: no hook is called, and nothing is written
	// except the status of this object. Defaults to false.
	Paused bool `json:"paused,omitempty"`

	// serviceAccount is the ServiceAccount that the controller acts as. The server
	// writes for the controller only what this account may write, by
	// impersonation, and gives a hook only objects that the account may list and
	// watch. Without it, the controller acts as the server itself; a server with
	// --require-service-account refuses such a controller. The command
	// metascript rbac prints a ServiceAccount with the permissions that the
	// controller needs.
	ServiceAccount *ServiceAccountRef `json:"serviceAccount,omitempty"`
}

// ServiceAccountRef names a ServiceAccount.
type ServiceAccountRef struct {
	// namespace is the namespace of the ServiceAccount.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="namespace must be the name of a namespace: lower-case letters, digits and -"
	Namespace string `json:"namespace"`

	// name is the name of the ServiceAccount.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name must be the name of a ServiceAccount: lower-case letters, digits, - and ."
	Name string `json:"name"`
}

// Isolation defines where scripts run.
//
// +kubebuilder:validation:Enum=InProcess;Process
type Isolation string

// The values of Isolation.
const (
	IsolationInProcess Isolation = "InProcess"
	IsolationProcess   Isolation = "Process"
)

// ApplyStrategy defines how objects are updated.
//
// +kubebuilder:validation:Enum=DynamicApply;ServerSideApply
type ApplyStrategy string

// The values of ApplyStrategy.
const (
	DynamicApply    ApplyStrategy = "DynamicApply"
	ServerSideApply ApplyStrategy = "ServerSideApply"
)

// ControllerStatus is the observed state of a controller.
type ControllerStatus struct {
	// observedGeneration is the generation of this object that the server observed
	// last. While it is less than metadata.generation, the status describes an
	// older spec.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// activeGeneration is the generation whose spec and script run. It is less
	// than observedGeneration while the server cannot load the last edit, and not
	// set while nothing runs.
	ActiveGeneration int64 `json:"activeGeneration,omitempty"`

	// conditions are the conditions of the controller. Each type is always
	// present, except that ShadowAgrees is present only with spec.shadow, and is
	// Unknown while its status cannot be determined. These types
	// are normally True: Ready means that the last edit of the spec runs,
	// ResourcesDiscovered that the API server serves all resources of the spec,
	// ScriptReady that all scripts are loaded, Permitted that the API server
	// permits all requests, and SpecSound that all settings of the spec take
	// effect. These types are normally False: ScriptsHeld means that a script is
	// not called for some parents, because it exceeded a limit for them,
	// ScriptRunaway that a script still runs after its timeout, FallbackActive
	// that a webhook answers in place of a script, FinalizersHeld that parents
	// have the finalizer although there is no finalize hook any more, and
	// ParentsWaiting that parents wait because the hooks are slow.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// parents is the number of parents of the controller (for a
	// DecoratorController: of the objects that it decorates). It is updated at
	// most once a minute.
	Parents *int32 `json:"parents,omitempty"`

	// failing says for how many parents the last sync failed, and why. It is not
	// set while the last sync of no parent failed, and while nothing runs.
	Failing *FailingStatus `json:"failing,omitempty"`

	// script is the script that runs. It is not set if no script runs.
	Script *ScriptStatus `json:"script,omitempty"`

	// shadow is what came of comparing the candidate in spec.shadow. It is not set
	// without a candidate that is loaded.
	Shadow *ShadowStatus `json:"shadow,omitempty"`
}

// FailingStatus sums up the parents for which the last sync failed.
type FailingStatus struct {
	// parents is the number of these parents.
	Parents int32 `json:"parents"`

	// cause is the error that most of them share, in one line. For a controller
	// with an account it says only what kind of error it is.
	Cause string `json:"cause"`

	// since is the time when the first of the parents that share the error failed
	// with it.
	Since *metav1.Time `json:"since,omitempty"`
}

// ScriptStatus describes the script that runs.
type ScriptStatus struct {
	// language is the language of the script.
	Language Language `json:"language,omitempty"`

	// hooks are the hooks of the controller, sorted: the ones that spec.hooks
	// lists, and the ones that the script defines.
	//
	// +listType=atomic
	Hooks []string `json:"hooks,omitempty"`

	// source is where the script came from: inline, file and its path, or
	// configMap and its namespace/name/key.
	Source string `json:"source,omitempty"`

	// digest is a digest of the script and of all that it can load: sha256: and
	// hexadecimal digits.
	Digest string `json:"digest,omitempty"`

	// loadedAt is the time when this version of the script was loaded.
	LoadedAt *metav1.Time `json:"loadedAt,omitempty"`

	// lastGood is the ConfigMap, in the namespace of the server, that stores the
	// last good version of the controller: its spec and scripts together. The
	// server runs this version if it restarts while the current one cannot be
	// loaded.
	LastGood string `json:"lastGood,omitempty"`

	// givenUp identifies the version that was rolled back; see script.rollback.
	// The server does not try this version again; it tries the next edit.
	GivenUp string `json:"givenUp,omitempty"`
}
