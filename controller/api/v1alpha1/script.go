package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Language is one in which scripts are written.
//
// +kubebuilder:validation:Enum=Starlark;JavaScript;Jsonnet
type Language string

// The languages.
const (
	Starlark   Language = "Starlark"
	JavaScript Language = "JavaScript"
	Jsonnet    Language = "Jsonnet"
)

// A ScriptSource is what scripts of a controller and of a hook have in common:
// where the source is, and the bounds of a call.
//
// +kubebuilder:validation:XValidation:rule="has(self.language) || !(has(self.inline) || has(self.file) || has(self.configMapRef)) || (has(self.file) && self.file.matches('[.](star|js|jsonnet|libsonnet)$')) || (has(self.configMapRef) && self.configMapRef.key.matches('[.](star|js|jsonnet|libsonnet)$'))",fieldPath=".language",reason=FieldValueRequired,message="say the language: Starlark, JavaScript or Jsonnet; it may be left out only beside a file, or a configMapRef with a key, that ends in .star, .js, .jsonnet or .libsonnet"
// +kubebuilder:validation:XValidation:rule="!has(self.modules) || has(self.inline)",fieldPath=".modules",message="modules go with inline; a file can load the files beside it, and a configMapRef the other keys, without them"
type ScriptSource struct {
	// The language: Starlark, JavaScript or Jsonnet. When absent, the ending of
	// the file's name, or of configMapRef's key, tells it: .star, .js, .jsonnet or
	// .libsonnet. Inline code needs it.
	Language Language `json:"language,omitempty"`

	// The source text. The server takes 128 KiB with modules unless it is set up
	// otherwise; what is larger goes into a file or a ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1048576
	Inline string `json:"inline,omitempty"`

	// Further source texts by file name, such as lib.star, which inline code can
	// load by that name. None when absent.
	//
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[^/]+(/[^/]+)*$') && !name.matches('(^|/)[.][.]?(/|$)'))",message="a module's name is a file name or a path, such as lib.star, without . and .."
	Modules map[string]ModuleText `json:"modules,omitempty"`

	// The path of the source below the server's scripts directory, such as
	// catset/sync.js. It can load the files beside it. An edit takes effect
	// without a restart.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+(/[^/]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="file is a path below the scripts directory, such as catset/sync.js, without . and .."
	File string `json:"file,omitempty"`

	// The key of a ConfigMap whose value is the source. It can load the other keys
	// of the ConfigMap. An edit takes effect without a restart.
	ConfigMapRef *ConfigMapKeyRef `json:"configMapRef,omitempty"`

	// How much processor time one call may take, as a duration such as 500ms or
	// 5s. Time that passes while the machine does other things does not count;
	// yet a call is given up after ten times its timeout and 30 seconds. When
	// absent, a hook has the timeout of spec.script, and that is 5s. The
	// server's --max-script-timeout, 30s unless it is set, is the most that
	// counts.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="timeout is a duration above zero, such as 500ms, 5s or 1m30s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// What one call may use up. A limit that a hook does not set is the one of
	// spec.script, and one that is not set there has its default. A script that
	// hits its limit of steps, memory, output or nested calls twice in a row for a
	// parent is not run for that parent before the parent's spec or the script
	// changes.
	Limits *ScriptLimits `json:"limits,omitempty"`
}

// ModuleText is the source text of a module.
//
// +kubebuilder:validation:MaxLength=1048576
type ModuleText string

// A ConfigMapKeyRef names a key of a ConfigMap that holds source text.
type ConfigMapKeyRef struct {
	// The name of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name is that of a ConfigMap: lower case letters, digits, - and ."
	Name string `json:"name"`

	// The namespace of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="namespace is the name of one: lower case letters, digits and -"
	Namespace string `json:"namespace"`

	// The key whose value is the source, such as sync.js.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="key is one of a ConfigMap: letters, digits, -, _ and ."
	Key string `json:"key"`
}

// ScriptLimits says what one call of a script may use up. What is above the
// server's ceilings counts as if it were at them, and the condition SpecSound
// tells it.
type ScriptLimits struct {
	// How many steps the interpreter may take. In Starlark and Jsonnet a step is
	// about one operation, and what works through a long list or text counts as
	// many; the same call always takes the same steps, whatever the machine. In
	// JavaScript steps are not counted, and the timeout is what ends a loop. When
	// absent, 50 million. The server's --max-script-steps, a thousand million
	// unless it is set, is the most that counts.
	//
	// +kubebuilder:validation:Minimum=1
	Steps *int64 `json:"steps,omitempty"`

	// How much memory a call may use, as a quantity such as 64Mi. With isolation
	// Process the operating system enforces it, above what the worker process
	// needs for itself. InProcess it is approximate: no single value may be
	// larger, and a call is ended when the server grows by more while it runs.
	// When absent, 64Mi. The server's --max-script-memory, 256Mi unless it is set,
	// is the most that counts.
	//
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="memory is a quantity above zero, such as 64Mi"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// How large the answer may be as JSON, as a quantity such as 4Mi. When absent,
	// 4Mi. The server's --max-script-output, 16Mi unless it is set, is the most
	// that counts.
	//
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="output is a quantity above zero, such as 4Mi"
	Output *resource.Quantity `json:"output,omitempty"`
}

// A ControllerScript is the script of a controller. Its functions are the
// controller's hooks.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.file), has(self.configMapRef)].filter(given, given).size() == 1",message="a script has exactly one of inline, file and configMapRef"
type ControllerScript struct {
	ScriptSource `json:",inline"`

	// Code that several controllers share, which the script can load by name. None
	// when absent.
	//
	// +kubebuilder:validation:MaxItems=64
	Libraries []ScriptLibrary `json:"libraries,omitempty"`

	// The version of the hooks that spec.hooks does not list; see the version of a
	// hook. v1 when absent.
	Version HookVersion `json:"version,omitempty"`

	// What happens when a new version of the script, once it loaded, fails. Off:
	// it stays in use, and its parents are tried again. OnError: when it fails for
	// more than rollbackPercent of the parents for which the version before it did
	// not fail, that one is used again until the script is edited. Off when
	// absent.
	Rollback Rollback `json:"rollback,omitempty"`

	// Of how many of the parents that a new version was tried for it may fail, in
	// percent, before it is given up. It is judged once ten were tried, or all
	// there are. Without effect unless rollback is OnError. 20 when absent.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	RollbackPercent *int32 `json:"rollbackPercent,omitempty"`
}

// Rollback says when the last version of a script that worked is used again.
//
// +kubebuilder:validation:Enum=Off;OnError
type Rollback string

// The rollbacks.
const (
	RollbackOff     Rollback = "Off"
	RollbackOnError Rollback = "OnError"
)

// A ScriptLibrary is code that several controllers share.
//
// +kubebuilder:validation:XValidation:rule="has(self.file) != has(self.configMapRef)",message="a library has exactly one of file and configMapRef"
type ScriptLibrary struct {
	// The name by which scripts load it, such as conditions.star, or below which
	// they load its files, such as lib for lib/conditions.star. When absent, the
	// last part of the file's path, configMapRef's key, or without a key its name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+(/[^/]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="name is a file name or a path, such as lib or conditions.star, without . and .."
	Name string `json:"name,omitempty"`

	// The path of the source below the server's scripts directory, such as
	// lib/conditions.star, or of a folder, which stands for all files below it.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+(/[^/]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="file is a path below the scripts directory, such as lib/conditions.star, without . and .."
	File string `json:"file,omitempty"`

	// The key of a ConfigMap whose value is the source, or a whole ConfigMap.
	ConfigMapRef *LibraryConfigMapRef `json:"configMapRef,omitempty"`
}

// A LibraryConfigMapRef names a ConfigMap that holds source text, or one key of
// it.
type LibraryConfigMapRef struct {
	// The name of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name is that of a ConfigMap: lower case letters, digits, - and ."
	Name string `json:"name"`

	// The namespace of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="namespace is the name of one: lower case letters, digits and -"
	Namespace string `json:"namespace"`

	// The key whose value is the source. When absent, all keys are loadable below
	// the library's name.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="key is one of a ConfigMap: letters, digits, -, _ and ."
	Key string `json:"key,omitempty"`
}

// A HookScript is the script of one hook: a source of its own, or only the
// name of a function in spec.script.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.file), has(self.configMapRef)].filter(given, given).size() <= 1",message="a hook's script has at most one of inline, file and configMapRef"
// +kubebuilder:validation:XValidation:rule="!has(self.language) || has(self.inline) || has(self.file) || has(self.configMapRef)",fieldPath=".language",message="a hook that only names a function has the language of spec.script"
type HookScript struct {
	ScriptSource `json:",inline"`

	// The function that serves the hook. When absent, the one with the hook's
	// name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Function string `json:"function,omitempty"`
}
