package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/rollout"
)

// validate returns why a controller of this spec is not run, whatever its hooks are.
func (d *Declaration) Validate() error {
	failed := []error{contradiction(d)}
	for i := range d.Parents {
		_, err := d.Parents[i].Selector()
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// contradiction refuses two rules about one resource: its objects would be seen in two versions, and those of the one
// would be deleted since the other is desired.
func contradiction(d *Declaration) error {
	seen := map[string]int{}
	for i, rule := range d.Children {
		group, _, _ := strings.Cut(rule.APIVersion, "/")
		if group == rule.APIVersion {
			group = "" // of the core: "v1"
		}
		name := rule.Resource + "." + group
		if first, twice := seen[name]; twice && d.Children[first].APIVersion != rule.APIVersion {
			return fmt.Errorf("%s and [%d] are about %s in two versions, %s and %s: keep one", d.Field.At(first), i, rule.Resource, d.Children[first].APIVersion, rule.APIVersion)
		}
		seen[name] = i
	}
	return nil
}

// warnings lists what is accepted and has no effect, or is probably not meant.
func (d *Declaration) Warnings() []string {
	doubts := aboutParents(d)
	for i, child := range d.Children {
		if len(child.Checks) > 0 && !child.Method.Rolls() {
			doubts = append(doubts, fmt.Sprintf("%s.updateStrategy.statusChecks has no effect with method %s: only the rolling methods wait for it", d.Field.At(i), child.Method))
		}
	}
	_, odd := rollout.Paths(d.FieldPaths)
	for _, doubt := range odd {
		doubts = append(doubts, "parentResource.revisionHistory.fieldPaths: "+doubt)
	}
	if d.ScriptRevisions && !d.HasScript() {
		doubts = append(doubts, "parentResource.revisionHistory.scriptRevisions has no effect, since no hook is a script")
	} else if d.ScriptRevisions && !slices.ContainsFunc(d.Children, func(c Child) bool { return c.Method.Rolls() }) {
		doubts = append(doubts, "parentResource.revisionHistory.scriptRevisions has no effect, since no child resource has a rolling update method")
	}
	return doubts
}

// aboutParents is what is accepted, and probably not meant, of the resources of a DecoratorController.
func aboutParents(d *Declaration) []string {
	if d.Kind != v1alpha1.KindDecoratorController || len(d.Parents) > 0 {
		return nil
	}
	return []string{"resources is empty, so that no object is decorated: name a resource"}
}
