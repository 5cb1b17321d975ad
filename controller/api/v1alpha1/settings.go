package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControllerSettings are the settings that both kinds of controllers have
// beside their hooks.
type ControllerSettings struct {
	// Where scripts run. InProcess: inside the server, behind guards against all
	// that is known. Process: behind the same guards, in worker processes that the
	// operating system limits in memory, time and what they may do, so that also
	// what is not known harms nobody else. Calls cost more there. A server started
	// with --isolation=Process runs all scripts so; one on a system that lacks
	// what it takes does not run scripts that ask for it. InProcess when absent.
	Isolation Isolation `json:"isolation,omitempty"`

	// How objects are updated. DynamicApply: by a three-way merge with what the
	// hook last asked for, which is kept in an annotation. ServerSideApply: by the
	// API server, under the field manager of this server. When absent, what the
	// server is set up for, which is DynamicApply by default.
	ApplyStrategy ApplyStrategy `json:"applyStrategy,omitempty"`

	// How many parents of this controller are synced at the same time, at most.
	// The number of workers that the server is set up for when absent.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrentSyncs *int32 `json:"maxConcurrentSyncs,omitempty"`

	// Whether the controller rests: no hook runs and nothing is written, except
	// this object's status. False when absent.
	Paused bool `json:"paused,omitempty"`
}

// Isolation says where scripts run.
//
// +kubebuilder:validation:Enum=InProcess;Process
type Isolation string

// The isolations.
const (
	IsolationInProcess Isolation = "InProcess"
	IsolationProcess   Isolation = "Process"
)

// An ApplyStrategy says how objects are updated.
//
// +kubebuilder:validation:Enum=DynamicApply;ServerSideApply
type ApplyStrategy string

// The apply strategies.
const (
	DynamicApply    ApplyStrategy = "DynamicApply"
	ServerSideApply ApplyStrategy = "ServerSideApply"
)

// ControllerStatus is what the server made of a controller's spec.
type ControllerStatus struct {
	// The generation of this object that the server saw last. While it is less
	// than metadata.generation, the rest of the status is about an older spec.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The generation whose spec and script run. It is less than observedGeneration
	// while an edit could not be put to use, and absent while nothing runs.
	ActiveGeneration int64 `json:"activeGeneration,omitempty"`

	// How the controller is: Ready says whether it runs with the spec last
	// written, ResourcesDiscovered whether the API server has all resources it
	// names, ScriptReady whether its scripts are loaded, FallbackActive whether
	// webhooks answer in their place. ScriptsHeld is there
	// while a script is not run for some parents, since it hit a limit for them,
	// ScriptRunaway while a script runs on although its time is up,
	// and SpecSound while the spec says something that is not, or not wholly,
	// done.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// How many parents the controller looks after (for a DecoratorController, how
	// many objects it decorates). Counted anew at most once a minute.
	Parents *int32 `json:"parents,omitempty"`

	// The script that runs. Absent without one.
	Script *ScriptStatus `json:"script,omitempty"`
}

// ScriptStatus tells about the script that runs.
type ScriptStatus struct {
	// The language of the script.
	Language Language `json:"language,omitempty"`

	// The hooks that the controller has, sorted: those that spec.hooks lists, and
	// those that the script was found to define.
	//
	// +listType=atomic
	Hooks []string `json:"hooks,omitempty"`

	// Where the script came from: inline, file and its path, or configMap and its
	// namespace/name/key.
	Source string `json:"source,omitempty"`

	// A digest of the script and all that it can load, as sha256: and hexadecimal
	// digits.
	Digest string `json:"digest,omitempty"`

	// When this version of the script was put to use.
	LoadedAt *metav1.Time `json:"loadedAt,omitempty"`

	// The ConfigMap in the server's namespace that keeps the last version of the
	// controller, spec and scripts together, that was good. It runs again when the
	// server restarts while the source is broken.
	LastGood string `json:"lastGood,omitempty"`

	// The version that was given up, as script.rollback says. It is not tried
	// again; an edit is.
	GivenUp string `json:"givenUp,omitempty"`
}
