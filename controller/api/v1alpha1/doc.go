// Package v1alpha1 defines the API of metascript as Go types: CompositeController and DecoratorController,
// which define what a controller watches and which hooks it calls, and ControllerRevision, which stores the
// progress of a rolling update.
//
// The group, the kinds and the fields of Metacontroller 4.17 are the same here. Its objects are valid, are
// stored without a change, and have the same meaning. The fields for scripts are new: see [ControllerScript]
// and [HookScript], which both embed [ScriptSource]. The status of both kinds of controllers is a
// [ControllerStatus]; its condition types and reasons are constants in conditions.go.
//
// kubectl explain prints the comments on the types and fields. The API server enforces the rules in the
// markers. The CustomResourceDefinitions and the deep copy methods are generated from both: run "make
// generate" after a change.
//
// Two rules keep existing objects valid. A field of Metacontroller has no validation, except the validation
// that it has in Metacontroller. A new field has no default in the schema: a field that is not set stays not
// set, so that a hook gets the controller object as its author wrote it.
//
// +kubebuilder:object:generate=true
// +groupName=metacontroller.k8s.io
package v1alpha1

//go:generate go tool -modfile=../../../test/tools/go.mod controller-gen object crd:headerFile=crd-header.txt paths=. output:crd:dir=../../../manifests/crds
