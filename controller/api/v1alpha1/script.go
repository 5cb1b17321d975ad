package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Language is the language of a script.
//
// +kubebuilder:validation:Enum=Starlark;JavaScript;TypeScript;Jsonnet
type Language string

// The values of Language.
const (
	Starlark   Language = "Starlark"
	JavaScript Language = "JavaScript"
	TypeScript Language = "TypeScript"
	Jsonnet    Language = "Jsonnet"
)

// ScriptSource holds the fields that the script of a controller and the script
// of a hook have in common: the source, and the limits of a call.
//
// +kubebuilder:validation:XValidation:rule="has(self.language) || !(has(self.inline) || has(self.file) || has(self.configMapRef)) || (has(self.file) && self.file.matches('[.](star|js|ts|jsonnet|libsonnet)$') && !self.file.endsWith('.d.ts')) || (has(self.configMapRef) && self.configMapRef.key.matches('[.](star|js|ts|jsonnet|libsonnet)$') && !self.configMapRef.key.endsWith('.d.ts'))",fieldPath=".language",reason=FieldValueRequired,message="set language to Starlark, JavaScript, TypeScript or Jsonnet; it can be omitted only if the file, or the key of the configMapRef, ends in .star, .js, .ts, .jsonnet or .libsonnet"
// +kubebuilder:validation:XValidation:rule="!has(self.modules) || has(self.inline)",fieldPath=".modules",message="modules can only be set together with inline; a file can load the other files in its directory, and a configMapRef the other keys of its ConfigMap, without modules"
type ScriptSource struct {
	// language is Starlark, JavaScript, TypeScript or Jsonnet. It is required for
	// inline. For file and configMapRef it defaults to the language of the file
	// name or key, which then must end in .star, .js, .ts, .jsonnet or .libsonnet.
	// TypeScript always runs with isolation Process.
	Language Language `json:"language,omitempty"`

	// inline is the source text. The server accepts up to 128 KiB, together with
	// modules. Put a larger script into a file or a ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1048576
	Inline string `json:"inline,omitempty"`

	// modules are more source texts, by file name, such as lib.star. The code in
	// inline can load them by this name. Defaults to none.
	//
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[^/]+(/[^/]+)*$') && !name.matches('(^|/)[.][.]?(/|$)'))",message="a module's name must be a file name or a path, such as lib.star, without . and .."
	Modules map[string]ModuleText `json:"modules,omitempty"`

	// file is the path of the source file, relative to the scripts directory of
	// the server, such as catset/sync.js. The script can load the other files of
	// its directory. An edit takes effect without a restart.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+(/[^/]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="file must be a path below the scripts directory, such as catset/sync.js, without / at its beginning, and without . and .."
	File string `json:"file,omitempty"`

	// configMapRef is the key of a ConfigMap that holds the source text. The
	// script can load the other keys of the ConfigMap. An edit takes effect
	// without a restart.
	ConfigMapRef *ConfigMapKeyRef `json:"configMapRef,omitempty"`

	// timeout is the CPU time that one call may use, as a duration such as 500ms
	// or 5s. The time in which other processes use the CPU does not count, but a
	// call is stopped when ten times its timeout plus 30 seconds have passed. For
	// a hook, it defaults to the timeout of spec.script, and there to 5s. The
	// maximum is the server's flag --max-script-timeout, 30s unless it is set.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="timeout must be a duration above zero, such as 500ms, 5s or 1m30s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// limits are the limits of one call. A limit that a hook does not set defaults
	// to the limit of spec.script. If a script exceeds its limit of steps, memory,
	// output or nested calls twice in a row for a parent, it is not called again
	// for that parent until the spec of the parent or the script changes.
	Limits *ScriptLimits `json:"limits,omitempty"`
}

// ModuleText is the source text of a module.
//
// +kubebuilder:validation:MaxLength=1048576
type ModuleText string

// ConfigMapKeyRef selects a key of a ConfigMap that holds source text.
type ConfigMapKeyRef struct {
	// name is the name of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name must be the name of a ConfigMap: lower-case letters, digits, - and ."
	Name string `json:"name"`

	// namespace is the namespace of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="namespace must be the name of a namespace: lower-case letters, digits and -"
	Namespace string `json:"namespace"`

	// key is the key that holds the source text, such as sync.js.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="key must be a key of a ConfigMap: letters, digits, -, _ and ."
	Key string `json:"key"`
}

// ScriptLimits are the limits of one call of a script. The server's flags set
// a maximum for each limit. A higher value is reduced to the maximum, and the
// condition SpecSound reports it.
type ScriptLimits struct {
	// The schemas of memory and output are not those of a quantity, which have a regular expression in the error of the API server. The
	// rule requires the same, in words.

	// steps is the maximum number of steps of the interpreter. In Starlark and
	// Jsonnet, a step is about one operation; an operation on a long list or
	// string counts as many steps. The same call always takes the same number of
	// steps, on every machine. In JavaScript steps are not counted, and only the
	// timeout stops a loop. Defaults to 50 million. The maximum is the server's
	// flag --max-script-steps, 1000 million unless it is set.
	//
	// +kubebuilder:validation:Minimum=1
	Steps *int64 `json:"steps,omitempty"`

	// memory is the memory that a call may use, as a quantity such as 64Mi. With
	// isolation Process, the operating system enforces the limit, in addition to
	// the memory that the worker process itself needs. With InProcess, the limit
	// is approximate: no single value may be larger, and a call is stopped when
	// the memory of the server grows by more than the limit during the call.
	// Defaults to 64Mi. The maximum is the server's flag --max-script-memory,
	// 256Mi unless it is set.
	//
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="memory must be a quantity above zero, such as 64M or 64Mi"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	Memory *resource.Quantity `json:"memory,omitempty"`

	// output is the maximum size of the answer as JSON, as a quantity such as 4Mi.
	// Defaults to 4Mi. The maximum is the server's flag --max-script-output, 16Mi
	// unless it is set.
	//
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="output must be a quantity above zero, such as 4M or 4Mi"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	Output *resource.Quantity `json:"output,omitempty"`
}

// ControllerScript is the script of a controller. Its functions are the hooks
// of the controller.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.file), has(self.configMapRef)].filter(given, given).size() == 1",message="a script must have exactly one of inline, file and configMapRef",messageExpression="has(self.inline) && has(self.file) && has(self.configMapRef) ? 'inline, file and configMapRef are set, but a script must have exactly one of inline, file and configMapRef: delete two of them' : has(self.inline) && has(self.file) ? 'inline and file are set, but a script must have exactly one of inline, file and configMapRef: delete file to use the text in inline, or delete inline to use the file' : has(self.inline) && has(self.configMapRef) ? 'inline and configMapRef are set, but a script must have exactly one of inline, file and configMapRef: delete configMapRef to use the text in inline, or delete inline to use the ConfigMap' : has(self.file) && has(self.configMapRef) ? 'file and configMapRef are set, but a script must have exactly one of inline, file and configMapRef: delete configMapRef to use the file, or delete file to use the ConfigMap' : 'a script must have exactly one of inline, file and configMapRef'"
type ControllerScript struct {
	ScriptSource `json:",inline"`

	// libraries are code that several controllers share. The script can load them
	// by name. Defaults to none.
	//
	// +kubebuilder:validation:MaxItems=64
	Libraries []ScriptLibrary `json:"libraries,omitempty"`

	// version is the version of the hooks that spec.hooks does not list; see the
	// field version of a hook. Defaults to v1.
	Version HookVersion `json:"version,omitempty"`

	// rollback defines what happens if a new version of the script loads, but its
	// calls fail. Off: the new version stays in use, and the calls are retried.
	// OnError: if the calls fail for more than rollbackPercent of the parents for
	// which the previous version did not fail, the server uses the previous
	// version again until the script is edited. Defaults to Off.
	Rollback Rollback `json:"rollback,omitempty"`

	// rollbackPercent is the percentage of parents for which a new version may
	// fail before it is rolled back. The server decides when the new version was
	// called for ten parents, or for all if there are fewer. It has no effect
	// unless rollback is OnError. Defaults to 20.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	RollbackPercent *int32 `json:"rollbackPercent,omitempty"`

	// guard limits what a new version of the controller may do. Before the server
	// uses a new version, it computes what the version would do for all parents
	// that exist, without a write. If that is more than a limit, the previous
	// version keeps running, until the next edit or until an annotation on the
	// controller lets the new version through. Defaults to no limits.
	Guard *ScriptGuard `json:"guard,omitempty"`

	// remember defines whether the script is not called for a parent if nothing
	// that it reads has changed since its last call. If it is false, the script
	// is called in each resync and after each change. A script that may see the
	// time, such as request.now, is always called. Defaults to true.
	Remember *bool `json:"remember,omitempty"`
}

// ScriptGuard has the limits of what a new version may do. A percentage is
// rounded down: 10% of 25 children are two. At least one limit is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.maxDeletes) || has(self.maxRecreates) || has(self.maxRestarts) || has(self.maxChangedParents)",message="a guard must have at least one of maxDeletes, maxRecreates, maxRestarts and maxChangedParents"
type ScriptGuard struct {
	// maxDeletes is how many children a new version may delete because it does
	// not return them any more, as a number or as a percentage of the children
	// that exist. Defaults to no limit.
	//
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxDeletes must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	MaxDeletes *intstr.IntOrString `json:"maxDeletes,omitempty"`

	// maxRecreates is how many children a new version may delete and create again
	// because they differ and cannot be updated with their update method, as a
	// number or as a percentage of the children that exist. Children that a
	// rollout would recreate one by one count too. Defaults to no limit.
	//
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxRecreates must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	MaxRecreates *intstr.IntOrString `json:"maxRecreates,omitempty"`

	// maxRestarts is how many Pods a new version may restart: because it changes
	// the Pod template of a Deployment, StatefulSet or DaemonSet, or the image of
	// a Pod, or recreates one of them. It is a number or a percentage of the Pods
	// that the children have. Defaults to no limit.
	//
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxRestarts must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	MaxRestarts *intstr.IntOrString `json:"maxRestarts,omitempty"`

	// maxChangedParents is for how many parents a new version may write anything
	// that the previous version would not write: to the parent, such as its
	// status, or to its children. It is a number or a percentage of the parents.
	// Defaults to no limit.
	//
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxChangedParents must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	MaxChangedParents *intstr.IntOrString `json:"maxChangedParents,omitempty"`
}

// Rollback defines when the previous version of a script is used again.
//
// +kubebuilder:validation:Enum=Off;OnError
type Rollback string

// The values of Rollback.
const (
	RollbackOff     Rollback = "Off"
	RollbackOnError Rollback = "OnError"
)

// ScriptLibrary is code that several controllers share.
//
// +kubebuilder:validation:XValidation:rule="has(self.file) != has(self.configMapRef)",message="a library must have exactly one of file and configMapRef",messageExpression="has(self.file) ? 'file and configMapRef are set, but a library must have exactly one of file and configMapRef: delete configMapRef to use the file, or delete file to use the ConfigMap' : 'a library must have exactly one of file and configMapRef'"
type ScriptLibrary struct {
	// name is the name by which scripts load the library, such as conditions.star.
	// For a directory or a whole ConfigMap it is the first part of the name, such
	// as lib in lib/conditions.star. Defaults to the last part of the path in
	// file, to the key in configMapRef, or to its name if it has no key.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+(/[^/]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="name must be a file name or a path, such as lib or conditions.star, without . and .."
	Name string `json:"name,omitempty"`

	// file is the path of a source file, relative to the scripts directory of the
	// server, such as lib/conditions.star, or of a directory with source files.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+(/[^/]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="file must be a path below the scripts directory, such as lib/conditions.star, without / at its beginning, and without . and .."
	File string `json:"file,omitempty"`

	// configMapRef is the key of a ConfigMap that holds the source text, or a
	// whole ConfigMap.
	ConfigMapRef *LibraryConfigMapRef `json:"configMapRef,omitempty"`
}

// LibraryConfigMapRef selects a ConfigMap that holds source text, or one of
// its keys.
type LibraryConfigMapRef struct {
	// name is the name of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name must be the name of a ConfigMap: lower-case letters, digits, - and ."
	Name string `json:"name"`

	// namespace is the namespace of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="namespace must be the name of a namespace: lower-case letters, digits and -"
	Namespace string `json:"namespace"`

	// key is the key that holds the source text. If it is not set, scripts can
	// load all keys, as name/key with the name of the library.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="key must be a key of a ConfigMap: letters, digits, -, _ and ."
	Key string `json:"key,omitempty"`
}

// HookScript is the script of one hook. It has its own source, or it is a
// function of spec.script.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.file), has(self.configMapRef)].filter(given, given).size() <= 1",message="the script of a hook can have at most one of inline, file and configMapRef",messageExpression="has(self.inline) && has(self.file) && has(self.configMapRef) ? 'inline, file and configMapRef are set, but the script of a hook can have at most one of inline, file and configMapRef: delete two of them' : has(self.inline) && has(self.file) ? 'inline and file are set, but the script of a hook can have at most one of inline, file and configMapRef: delete file to use the text in inline, or delete inline to use the file' : has(self.inline) && has(self.configMapRef) ? 'inline and configMapRef are set, but the script of a hook can have at most one of inline, file and configMapRef: delete configMapRef to use the text in inline, or delete inline to use the ConfigMap' : has(self.file) && has(self.configMapRef) ? 'file and configMapRef are set, but the script of a hook can have at most one of inline, file and configMapRef: delete configMapRef to use the file, or delete file to use the ConfigMap' : 'the script of a hook can have at most one of inline, file and configMapRef'"
// +kubebuilder:validation:XValidation:rule="!has(self.language) || has(self.inline) || has(self.file) || has(self.configMapRef)",fieldPath=".language",message="a hook that only names a function uses the language of spec.script, so that language cannot be set"
type HookScript struct {
	ScriptSource `json:",inline"`

	// function is the name of the function that the hook calls. Defaults to the
	// name of the hook.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Function string `json:"function,omitempty"`
}
