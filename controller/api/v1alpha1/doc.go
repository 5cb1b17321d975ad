// Package v1alpha1 holds the kinds that metascript serves, as Go types: CompositeController and
// DecoratorController, which say what to watch and which hooks to ask, and ControllerRevision, in which a
// rolling update keeps what it has done so far.
//
// The group, the kinds and every field that Metacontroller 4.17 has are the same here, so that its objects
// are valid, are stored as they were and mean what they meant. Beside them stand the fields of scripts: see
// [ControllerScript] and [HookScript], both built on [ScriptSource]. The status of both kinds is a
// [ControllerStatus]; its condition types and reasons are constants in conditions.go.
//
// The comments on the types are the documentation that kubectl explain prints, and the markers in them are
// the rules that the API server enforces. The manifests and the deep copy methods are generated from them;
// run go generate here after a change.
//
// Two rules keep old objects safe. No rule and no bound stands on a field of Metacontroller's, except those
// that Metacontroller itself has. And no new field has a default in the schema: what is absent stays absent,
// so the controller object that a hook is sent is the one that its author wrote.
//
// +kubebuilder:object:generate=true
// +groupName=metacontroller.k8s.io
package v1alpha1

//go:generate go tool -modfile=../../../test/tools/go.mod controller-gen object crd:headerFile=crd-header.txt paths=. output:crd:dir=../../../manifests/crds
