package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/rollout"
)

// Validate returns why a controller with this spec cannot run, whatever its hooks are.
func (d *Declaration) Validate() error {
	errs := []error{oneVersionOfEach(d)}
	for i := range d.Parents {
		_, err := d.Parents[i].selector()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// oneVersionOfEach returns an error if two rules have different versions of a resource. Each object would be observed in
// both versions and desired in one, so that it would be deleted in the other.
func oneVersionOfEach(d *Declaration) error {
	rules := map[string]int{} // the first of each resource
	for i, rule := range d.Children {
		group, _, _ := strings.Cut(rule.APIVersion, "/")
		if group == rule.APIVersion {
			group = "" // of the core: "v1"
		}
		name := rule.Resource + "." + group
		if first, found := rules[name]; found && d.Children[first].APIVersion != rule.APIVersion {
			return fmt.Errorf("%s and [%d] name %s in two versions, %s and %s: keep one", d.Field.at(first), i, rule.Resource, d.Children[first].APIVersion, rule.APIVersion)
		}
		rules[name] = i
	}
	return nil
}

// Warnings returns warnings about settings that are accepted but have no effect, or are probably mistakes.
func (d *Declaration) Warnings() []string {
	warnings := append(resourceWarnings(d), repeatedRules(d)...)
	for i, child := range d.Children {
		if len(child.Checks) > 0 && !child.Method.Rolls() {
			warnings = append(warnings, fmt.Sprintf("%s.updateStrategy.statusChecks has no effect with method %s: only the rolling methods use it", d.Field.at(i), child.Method))
		}
	}
	if seconds := d.ResyncPeriodSeconds; seconds != nil && *seconds < 1 {
		warnings = append(warnings, fmt.Sprintf("resyncPeriodSeconds is %d, which means 1: to reconcile only after changes, leave it out", *seconds))
	}
	_, ignored := rollout.Paths(d.FieldPaths)
	for _, why := range ignored {
		warnings = append(warnings, "parentResource.revisionHistory.fieldPaths: "+why)
	}
	if d.ScriptRevisions && !d.HasScript() {
		warnings = append(warnings, "parentResource.revisionHistory.scriptRevisions has no effect, since no hook is a script")
	} else if d.ScriptRevisions && !slices.ContainsFunc(d.Children, func(c Child) bool { return c.Method.Rolls() }) {
		warnings = append(warnings, "parentResource.revisionHistory.scriptRevisions has no effect, since no child resource has a rolling update method")
	}
	return warnings
}

// repeatedRules returns a warning for each rule about a resource that an earlier rule is about.
func repeatedRules(d *Declaration) []string {
	var warnings []string
	for i, rule := range d.Children {
		same := func(other Child) bool { return other.ResourceRule == rule.ResourceRule }
		if first := slices.IndexFunc(d.Children, same); first < i {
			warnings = append(warnings, fmt.Sprintf("%s and [%d] are both about resource %s in %s, and only the last rule has an effect: keep one", d.Field.at(first), i, rule.Resource, rule.APIVersion))
		}
	}
	return warnings
}

// resourceWarnings returns a warning if a DecoratorController has no resources.
func resourceWarnings(d *Declaration) []string {
	if d.Kind != v1alpha1.KindDecoratorController || len(d.Parents) > 0 {
		return nil
	}
	return []string{"resources is empty, so that no object is decorated: add a resource"}
}
