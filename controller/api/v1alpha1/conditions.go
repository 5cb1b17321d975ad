package v1alpha1

// The types of a controller's conditions.
const (
	// ConditionReady is True while the controller runs with the spec that was last written.
	ConditionReady = "Ready"
	// ConditionResourcesDiscovered is True when the API server has every resource that the spec names.
	ConditionResourcesDiscovered = "ResourcesDiscovered"
	// ConditionScriptReady is True when every script of the spec is loaded and was last called without a fault
	// of its own. It is absent from a controller that has only webhooks.
	ConditionScriptReady = "ScriptReady"
	// ConditionSpecSound is False, with the reason Doubtful, while the spec says something that is accepted and
	// has no effect, or is probably not meant. It is absent otherwise.
	ConditionSpecSound = "SpecSound"
	// ConditionScriptsHeld is True, with the reason LimitExceeded, while there are parents for which the script is not
	// run, since it hit a limit twice in a row. It is absent otherwise.
	ConditionScriptsHeld = "ScriptsHeld"
	// ConditionScriptRunaway is True, with the reason NotStopped, while a script of the controller runs on although its
	// time is up, since nothing can stop it. It is absent otherwise.
	ConditionScriptRunaway = "ScriptRunaway"
	// ConditionFallbackActive is True while webhooks answer in place of scripts, and False while they need not. It is
	// there for a controller with a hook that has both.
	ConditionFallbackActive = "FallbackActive"
	// ConditionFinalizersHeld is True, with the reason NoFinalizeHook, while parents carry the controller's finalizer and
	// its scripts have no finalize hook any more. It is absent otherwise.
	ConditionFinalizersHeld = "FinalizersHeld"
	// ConditionPermitted is False, with the reason Forbidden, while the API server does not permit something that the
	// controller has to do. It is absent otherwise.
	ConditionPermitted = "Permitted"
)

// Reasons of the condition Ready.
const (
	// ReasonRunning: True, all is well.
	ReasonRunning = "Running"
	// ReasonPaused: True, the spec is in use and says that the controller rests.
	ReasonPaused = "Paused"
	// ReasonStarting: False, nothing is known to be wrong, and caches are being filled.
	ReasonStarting = "Starting"
	// ReasonCachesStale: False, a watch is interrupted for more than a moment, so that changes go unnoticed.
	ReasonCachesStale = "CachesStale"
	// ReasonRunningPreviousVersion: False, the edit could not be put to use, and the generation before runs.
	ReasonRunningPreviousVersion = "RunningPreviousVersion"
	// ReasonInvalidSpec: False, the spec cannot work whatever the cluster holds.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNoHooks: False, neither spec.hooks nor the script has a hook to call.
	ReasonNoHooks = "NoHooks"
	// ReasonResourcesNotDiscovered: False, see the condition ResourcesDiscovered.
	ReasonResourcesNotDiscovered = "ResourcesNotDiscovered"
	// ReasonNoStatusSubresource: False, the parent's resource has no status subresource.
	ReasonNoStatusSubresource = "NoStatusSubresource"
	// ReasonIsolationUnavailable: False, the server cannot run scripts as isolated as they are to be.
	ReasonIsolationUnavailable = "IsolationUnavailable"
	// ReasonScriptNotReady: False, see the condition ScriptReady.
	ReasonScriptNotReady = "ScriptNotReady"
)

// ReasonForbidden is the reason of the condition Permitted.
const ReasonForbidden = "Forbidden"

// ReasonNotStopped is that of the condition ScriptRunaway.
const ReasonNotStopped = "NotStopped"

// ReasonNoFinalizeHook is the reason of the condition FinalizersHeld.
const ReasonNoFinalizeHook = "NoFinalizeHook"

// ReasonDoubtful is the reason of the condition SpecSound.
const ReasonDoubtful = "Doubtful"

// Reasons of the condition ResourcesDiscovered.
const (
	// ReasonDiscovered: True, all are there.
	ReasonDiscovered = "Discovered"
	// ReasonResourceNotFound: False, the API server answers and has no such resource.
	ReasonResourceNotFound = "ResourceNotFound"
	// ReasonDiscoveryFailed: Unknown, the API server could not tell.
	ReasonDiscoveryFailed = "DiscoveryFailed"
)

// Reasons of the condition ScriptReady; LimitExceeded is that of ScriptsHeld too.
const (
	// ReasonLoaded: True, the message lists the hooks.
	ReasonLoaded = "Loaded"
	// ReasonSourceNotFound: False, the file, the ConfigMap or its key is not there.
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonSourceInvalid: False, what is there cannot be a script: it is not text, too large, or no file.
	ReasonSourceInvalid = "SourceInvalid"
	// ReasonRolledBack: False, the version that was loaded last failed for too many parents, and the one before it runs.
	ReasonRolledBack = "RolledBack"
	// ReasonCompileError: False, the message says where.
	ReasonCompileError = "CompileError"
	// ReasonFunctionNotFound: False, the script lacks a function that a hook names.
	ReasonFunctionNotFound = "FunctionNotFound"
	// ReasonLimitExceeded: False, a call took too long or broke a limit.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonCallFailed: False, a call failed by a fault of the script.
	ReasonCallFailed = "CallFailed"
)

// Reasons of the condition FallbackActive.
const (
	// ReasonScriptAnswers: False, as it should be.
	ReasonScriptAnswers = "ScriptAnswers"
	// ReasonScriptNotLoaded: True, there is no script to ask.
	ReasonScriptNotLoaded = "ScriptNotLoaded"
	// ReasonScriptUnavailable: True, the script takes too long or breaks limits.
	ReasonScriptUnavailable = "ScriptUnavailable"
	// ReasonScriptFailing: True, the script fails by a fault of its own.
	ReasonScriptFailing = "ScriptFailing"
)

// MaxConditionMessage is how many bytes the API server accepts as the message of a condition.
const MaxConditionMessage = 32 << 10
