package rollout

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A Revision is one version of a parent.
type Revision struct {
	Name     string
	Patch    map[string]any // the revisioned fields of the parent, each at its path
	Script   string         // the digest of the script; "" if the script is not part of a revision
	Children Children       // the children at this revision
	Desired  *object.Set    // the children that the hook returns for this version of the parent

	stored *object.Object // the ControllerRevision; nil: there is none yet
}

// Arrange finds the latest revision, of which name, fields and script are known, among the stored ones. It returns it, and
// the others.
func Arrange(latest Revision, stored []Revision) (Revision, []Revision, error) {
	at := slices.IndexFunc(stored, func(r Revision) bool { return r.Name == latest.Name })
	if at >= 0 && !stored[at].is(latest) {
		return latest, nil, damaged(stored[at].stored, "parentPatch is not the one that the name was made from")
	}
	if at < 0 {
		at = slices.IndexFunc(stored, latest.is)
	}
	if at < 0 {
		latest.Children = Children{}
		return latest, stored, nil
	}
	return stored[at], slices.Delete(slices.Clone(stored), at, at+1), nil
}

// is reports whether r and s are the same version. It does not compare the names, since they depend on the UID of the
// parent, which changes if a cluster is restored.
func (r Revision) is(s Revision) bool {
	return r.Script == s.Script && plan.Difference(plan.WithoutNulls(r.Patch), plan.WithoutNulls(s.Patch)) == ""
}

// A Child identifies a child of a namespaced parent: by its kind, without the version, and its name.
type Child struct {
	schema.GroupKind
	Name string
}

// ChildOf returns the Child that an object is.
func ChildOf(o *object.Object) Child { return Child{o.GroupVersionKind().GroupKind(), o.GetName()} }

// String returns a text such as "Pod web-0".
func (c Child) String() string { return c.Kind + " " + c.Name }

func (c Child) compare(d Child) int {
	return cmp.Or(cmp.Compare(c.Group, d.Group), cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Name, d.Name))
}

// Children are the children that are at a revision.
type Children map[Child]bool

// maxName is the maximum length of the name of an object.
const maxName = 253

// Name returns the name of the revision of a parent with that UID and these fields, and with that script unless it is "".
// Without a script it is the same name as in Metacontroller.
func Name(parents schema.GroupResource, uid string, patch map[string]any, script string) (string, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return "", fmt.Errorf("the revisioned fields: %w", err)
	}
	sum := sha1.Sum([]byte(uid + string(text) + script))
	hash := "-" + hex.EncodeToString(sum[:])
	prefix := parents.Resource + "." + cmp.Or(parents.Group, "core")
	return prefix[:min(len(prefix), maxName-len(hash))] + hash, nil
}
