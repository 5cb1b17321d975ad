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
	Script   string         // the digest of the script; "" when only the parent's fields count
	Children Children       // which are at this revision
	Desired  *object.Set    // what the hook answers about a parent of this version

	stored *object.Object // the ControllerRevision; nil: there is none yet
}

// Arrange tells the latest revision, of which name, fields and script are known, from the others among the stored
// ones.
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

// is reports whether r and s are the same version. The name does not say so, since it also depends on the parent's
// UID, which is another one in a cluster that was restored.
func (r Revision) is(s Revision) bool {
	return r.Script == s.Script && plan.Difference(plan.WithoutNulls(r.Patch), plan.WithoutNulls(s.Patch)) == ""
}

// A Child names a child of a namespaced parent: its kind, whatever the version, and its name.
type Child struct {
	schema.GroupKind
	Name string
}

func childOf(o *object.Object) Child { return Child{o.GroupVersionKind().GroupKind(), o.GetName()} }

// String names the child for people: "Pod web-0".
func (c Child) String() string { return c.Kind + " " + c.Name }

func (c Child) compare(d Child) int {
	return cmp.Or(cmp.Compare(c.Group, d.Group), cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Name, d.Name))
}

// Children are the children that are at a revision.
type Children map[Child]bool

// maxName is how long the name of an object may be.
const maxName = 253

// Name is the name of the revision of a parent with that UID and these fields, and with that script unless it is "".
// Without a script it is Metacontroller's, to the byte.
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
