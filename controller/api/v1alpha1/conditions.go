package v1alpha1

// The types of a controller's conditions. Each is in every status, except for ConditionShadowAgrees.
const (
	// ConditionReady is True while the controller runs with the spec that was last written.
	ConditionReady = "Ready"
	// ConditionResourcesDiscovered is True while the API server serves every resource that the spec names.
	ConditionResourcesDiscovered = "ResourcesDiscovered"
	// ConditionScriptReady is True while the version of every script that was last written is loaded, or there is none.
	ConditionScriptReady = "ScriptReady"
	// ConditionGuardPassed is False while the version that was last written would do more than spec.script.guard permits, so that the
	// version before runs on.
	ConditionGuardPassed = "GuardPassed"
	// ConditionSpecSound is False, with the reason Doubtful, while the spec has a setting that is accepted but has no
	// effect, or is probably a mistake.
	ConditionSpecSound = "SpecSound"
	// ConditionScriptsHeld is True, with the reason LimitExceeded, while the script is not called for some parents, because
	// it exceeded a limit twice in a row for them.
	ConditionScriptsHeld = "ScriptsHeld"
	// ConditionScriptRunaway is True, with the reason NotStopped, while a script of the controller still runs after its
	// timeout, and the server cannot stop it.
	ConditionScriptRunaway = "ScriptRunaway"
	// ConditionFallbackActive is True while the webhook of a hook answers in place of its script.
	ConditionFallbackActive = "FallbackActive"
	// ConditionFinalizersHeld is True, with the reason NoFinalizeHook, while parents have the controller's finalizer and its
	// scripts have no finalize hook any more.
	ConditionFinalizersHeld = "FinalizersHeld"
	// ConditionPermitted is False while something that the controller has to do is not permitted, or while the ServiceAccount
	// of the controller does not exist.
	ConditionPermitted = "Permitted"
	// ConditionParentsSynced is False while the last sync of some parents failed.
	ConditionParentsSynced = "ParentsSynced"
	// ConditionAnswersStored is False while the schema of a child or of a parent lacks fields that the hooks returned, so that the API
	// server does not store them.
	ConditionAnswersStored = "AnswersStored"
	// ConditionParentsWaiting is True while parents wait long for a worker because the hooks of the controller are slow.
	ConditionParentsWaiting = "ParentsWaiting"
	// ConditionAPIServerAnswers is False while the API server does not answer the requests of the server as it should. It is the same
	// for all controllers.
	ConditionAPIServerAnswers = "APIServerAnswers"
	// ConditionShadowAgrees is False while the candidate in spec.shadow answers otherwise than the script that runs, or fails. It is in
	// the status only if there is a candidate.
	ConditionShadowAgrees = "ShadowAgrees"
)

// Reasons of several conditions while they are Unknown.
const (
	// ReasonNotChecked: the controller is paused, or its spec or its script cannot be used, so that this was not looked at.
	// Of ResourcesDiscovered, ScriptReady and SpecSound.
	ReasonNotChecked = "NotChecked"
	// ReasonNotRunning: nothing of the controller runs. Of ScriptsHeld, FallbackActive, FinalizersHeld, Permitted,
	// ParentsSynced, AnswersStored and ParentsWaiting; and of Ready (False), if the controller was paused and its guard holds the latest version.
	ReasonNotRunning = "NotRunning"
)

// ReasonNoneHeld is the reason of the conditions ScriptsHeld and FinalizersHeld while they are False.
const ReasonNoneHeld = "NoneHeld"

// Reasons of the condition APIServerAnswers.
const (
	// ReasonAnswering: True, the API server answers.
	ReasonAnswering = "Answering"
	// ReasonThrottled: False, the API server asks to wait, for some seconds or longer, and all of the server wait.
	ReasonThrottled = "Throttled"
	// ReasonUnauthorized: False, the API server does not accept the credentials of the server.
	ReasonUnauthorized = "Unauthorized"
	// ReasonUnreachable: False, the API server cannot be reached, or answers that it does not work.
	ReasonUnreachable = "Unreachable"
)

// Reasons of the condition Ready.
const (
	// ReasonRunning: True, the controller runs.
	ReasonRunning = "Running"
	// ReasonPaused: True, the spec is in use, and spec.paused is set.
	ReasonPaused = "Paused"
	// ReasonStarting: False, the caches are being filled, and no error is known. FinalizersHeld, Permitted and SpecSound
	// are Unknown with this reason meanwhile, and ParentsSynced until every parent was synced once.
	ReasonStarting = "Starting"
	// ReasonCachesStale: False, a watch has been interrupted for some time, so that the controller does not see changes.
	ReasonCachesStale = "CachesStale"
	// ReasonRunningPreviousVersion: False, the last edit cannot be loaded, and the version before it runs.
	ReasonRunningPreviousVersion = "RunningPreviousVersion"
	// ReasonInvalidSpec: False, the spec is wrong, independently of what is in the cluster.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNoHooks: False, neither spec.hooks nor the script has a hook to call.
	ReasonNoHooks = "NoHooks"
	// ReasonResourcesNotDiscovered: False, see the condition ResourcesDiscovered.
	ReasonResourcesNotDiscovered = "ResourcesNotDiscovered"
	// ReasonNoStatusSubresource: False, the parent's resource has no status subresource.
	ReasonNoStatusSubresource = "NoStatusSubresource"
	// ReasonIsolationUnavailable: False, the server cannot run scripts with the isolation that the spec requests.
	ReasonIsolationUnavailable = "IsolationUnavailable"
	// ReasonScriptNotReady: False, see the condition ScriptReady.
	ReasonScriptNotReady = "ScriptNotReady"
)

// Reasons of the condition ParentsSynced.
const (
	// ReasonAllSynced: True, the last sync of no parent failed.
	ReasonAllSynced = "AllSynced"
	// ReasonSyncError: False, the last sync of some parents failed.
	ReasonSyncError = "SyncError"
)

// Reasons of the condition AnswersStored.
const (
	// ReasonAllStored: True, nothing is known that was not stored.
	ReasonAllStored = "AllStored"
	// ReasonFieldsNotStored: False, the message has the first field of a parent.
	ReasonFieldsNotStored = "FieldsNotStored"
)

// Reasons of the condition ParentsWaiting.
const (
	// ReasonNoneWaiting: False, no parent waits long because of slow hooks.
	ReasonNoneWaiting = "NoneWaiting"
	// ReasonSlowHooks: True, the message has the number of parents that wait, and how long a call takes.
	ReasonSlowHooks = "SlowHooks"
)

// Reasons of the condition Permitted.
const (
	// ReasonNothingForbidden: True, no request of the controller was refused for lack of a permission when it was last made.
	ReasonNothingForbidden = "NothingForbidden"
	// ReasonForbidden: False, the message names what is not permitted. Also of Ready, while the spec or a script cannot be loaded
	// because of it.
	ReasonForbidden = "Forbidden"
	// ReasonServiceAccountNotFound: False, the ServiceAccount that spec.serviceAccount names does not exist.
	ReasonServiceAccountNotFound = "ServiceAccountNotFound"
	// ReasonNotReviewed: False, the server cannot find out what the ServiceAccount may do.
	ReasonNotReviewed = "NotReviewed"
)

// Reasons of the condition ScriptRunaway.
const (
	// ReasonNoRunaway: False, no script of the controller runs after its timeout.
	ReasonNoRunaway = "NoRunaway"
	// ReasonNotStopped: True, the message names the script.
	ReasonNotStopped = "NotStopped"
)

// ReasonNoFinalizeHook is the reason of the condition FinalizersHeld while it is True.
const ReasonNoFinalizeHook = "NoFinalizeHook"

// Reasons of the condition SpecSound.
const (
	// ReasonNoWarnings: True, the spec and the scripts were checked, and there is nothing to warn of.
	ReasonNoWarnings = "NoWarnings"
	// ReasonDoubtful: False, the message lists the warnings.
	ReasonDoubtful = "Doubtful"
)

// Reasons of the condition ResourcesDiscovered.
const (
	// ReasonDiscovered: True, the API server serves all resources of the spec.
	ReasonDiscovered = "Discovered"
	// ReasonResourceNotFound: False, the API server answered that it does not serve a resource of the spec.
	ReasonResourceNotFound = "ResourceNotFound"
	// ReasonDiscoveryFailed: Unknown, the request to the API server failed.
	ReasonDiscoveryFailed = "DiscoveryFailed"
)

// Reasons of the condition ScriptReady. LimitExceeded is also the reason of ScriptsHeld.
const (
	// ReasonLoaded: True, the message lists the hooks.
	ReasonLoaded = "Loaded"
	// ReasonNoScript: True, webhooks answer for all hooks.
	ReasonNoScript = "NoScript"
	// ReasonSourceNotFound: False, the file, the ConfigMap or its key does not exist.
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonSourceInvalid: False, the source exists but cannot be a script: it is not text, too large, or not a regular file.
	ReasonSourceInvalid = "SourceInvalid"
	// ReasonRolledBack: False, the version that was loaded last failed for too many parents, and the previous version runs.
	ReasonRolledBack = "RolledBack"
	// ReasonCompileError: False, the message has the position of the error.
	ReasonCompileError = "CompileError"
	// ReasonFunctionNotFound: False, the script lacks a function that a hook names.
	ReasonFunctionNotFound = "FunctionNotFound"
	// ReasonLimitExceeded: False, compiling the script exceeded a limit.
	ReasonLimitExceeded = "LimitExceeded"
)

// Reasons of the condition GuardPassed. Those of a version that does not run are also reasons of the condition ScriptReady.
const (
	// ReasonNoGuard: True, the controller has no guard.
	ReasonNoGuard = "NoGuard"
	// ReasonNothingToCompare: True, no version has run before the one that runs.
	ReasonNothingToCompare = "NothingToCompare"
	// ReasonWithinGuard: True, what the version would do was within the limits.
	ReasonWithinGuard = "WithinGuard"
	// ReasonGuardApproved: True, an annotation lets the version through.
	ReasonGuardApproved = "GuardApproved"
	// ReasonGuardRunning: Unknown, what the version would do is being computed.
	ReasonGuardRunning = "GuardRunning"
	// ReasonGuardExceeded: False, the version would do more than a limit permits.
	ReasonGuardExceeded = "GuardExceeded"
	// ReasonGuardIncomplete: False, what the version would do could not be computed.
	ReasonGuardIncomplete = "GuardIncomplete"
)

// Reasons of the condition FallbackActive.
const (
	// ReasonScriptAnswers: False, the scripts of all hooks answer.
	ReasonScriptAnswers = "ScriptAnswers"
	// ReasonNoFallback: False, no hook has a webhook that can answer in place of its script.
	ReasonNoFallback = "NoFallback"
	// ReasonScriptNotLoaded: True, the script of the hook is not loaded.
	ReasonScriptNotLoaded = "ScriptNotLoaded"
	// ReasonScriptUnavailable: True, the script times out or exceeds a limit.
	ReasonScriptUnavailable = "ScriptUnavailable"
	// ReasonScriptFailing: True, the script fails because of an error in it.
	ReasonScriptFailing = "ScriptFailing"
)

// Reasons of the condition ShadowAgrees.
const (
	// ReasonSameAnswers: True, the answers were the same in each comparison.
	ReasonSameAnswers = "SameAnswers"
	// ReasonAnswersDiffer: False, the answers differed in some comparisons.
	ReasonAnswersDiffer = "AnswersDiffer"
	// ReasonCandidateFails: False, the candidate failed in some comparisons, and the answers were the same in the others.
	ReasonCandidateFails = "CandidateFails"
	// ReasonNotCompared: Unknown, there was no comparison yet.
	ReasonNotCompared = "NotCompared"
	// ReasonCandidateNotLoaded: Unknown, the candidate does not load.
	ReasonCandidateNotLoaded = "CandidateNotLoaded"
	// ReasonCandidateStopped: Unknown, the candidate exceeded its limits too often, and is not called any more.
	ReasonCandidateStopped = "CandidateStopped"
)

// MaxConditionMessage is how many bytes the API server accepts as the message of a condition.
const MaxConditionMessage = 32 << 10
