package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// containers are the kinds without which other objects cannot exist: an object is in a namespace, and a custom resource has a definition.
var containers = []schema.GroupKind{{Kind: "Namespace"}, {Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}

// ordered sorts ops, in place, so that an answer may have its objects in any order: containers are written before what is in them, and
// deleted after it. A container that is replaced is deleted first, because what is created in it before would be deleted with it.
// Otherwise the order stays.
func ordered(ops []Op) []Op {
	slices.SortStableFunc(ops, func(a, b Op) int { return turn(a) - turn(b) })
	return ops
}

// turn returns when o is done: ops with a lower number are done first.
func turn(o Op) int {
	switch undesired := o.Verb == Delete && o.Differs == nil; {
	case !slices.Contains(containers, o.Object.GroupVersionKind().GroupKind()):
		return 1
	case undesired:
		return 2
	}
	return 0
}
