package replay

import (
	"context"
	"fmt"
	"slices"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/recording"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/engine"
)

// A result is what became of a job.
type result struct {
	job       *job
	skipped   string // why the call was not made; "" if it was
	kept      bool   // the answer is that of an older script, which the edit does not change
	sampled   bool   // the call was made twice,
	varies    bool   // and was answered differently
	unrelated bool   // the recorded script answers differently now too, in the same way
	repeated  bool   // before is what the recorded script answers now

	differences   []difference
	before, after *answer
	effects       []effect
}

// every is of how many calls one is made twice.
const every = 16

// replay makes one call.
func (r *run) replay(ctx context.Context, j *job) *result {
	res := &result{job: j}
	parent, err := j.parent()
	if err != nil {
		res.skipped = err.Error()
		return res
	}
	if res.kept = r.keeps(j); res.kept {
		return res
	}
	script, why := r.script(j, parent)
	if why != "" {
		res.skipped = why
		return res
	}
	if res.before, err = j.answer(); err == nil {
		res.after, why, err = r.ask(ctx, r.edited, script, j, parent)
	}
	if res.skipped = why; err != nil {
		res.skipped = err.Error()
	}
	if res.skipped != "" {
		return res
	}
	if res.sampled = j.number%every == 1; res.sampled {
		again, _, err := r.ask(ctx, r.edited, script, j, parent)
		res.varies = err == nil && len(compare(res.after, again)) > 0
	}
	if res.differences = compare(res.before, res.after); len(res.differences) > 0 {
		r.repeat(ctx, res, parent)
	}
	if len(res.differences) > 0 && !res.unrelated {
		res.effects = r.effects(res, parent)
	}
	return res
}

// keeps reports whether a call for an older revision would still be answered by the script of that revision.
func (r *run) keeps(j *job) bool {
	return j.call.Revision != "" && r.edited.declaration.ScriptRevisions && (j.call.OlderScript || j.recorded != nil && j.recorded.declaration.ScriptRevisions)
}

// script returns the script to call, or why there is none.
func (r *run) script(j *job, parent *object.Object) (*hook.Script, string) {
	rule := r.edited.Rule(parent.GroupVersionKind())
	switch {
	case rule == nil:
		return nil, fmt.Sprintf("%s in %s is not a kind of the parents of the controller: they are %s", parent.GetKind(), parent.GetAPIVersion(), r.edited.parentKinds())
	case j.call.Answer != nil && j.call.Answer.Settled:
		return nil, "the answer of the webhook is not in the recording, since it was the one before"
	case !j.call.Finalizing && j.call.Revision == "" && !rule.Selects(parent):
		return nil, "the controller does not select the parent: " + rule.Unlike(parent)
	}
	return r.edited.script(j.call.Hook, j.call)
}

// repeat makes a call with the recorded script too, to find out whether a difference is of the edit: a script may not answer the same each
// time, and values in the recording may be replaced.
func (r *run) repeat(ctx context.Context, res *result, parent *object.Object) {
	j := res.job
	if j.recorded == nil || j.call.Webhook || j.call.OlderScript {
		return
	}
	script, why := j.recorded.script(j.call.Hook, j.call)
	if why != "" {
		return
	}
	again, why, err := r.ask(ctx, j.recorded, script, j, parent)
	if err != nil || why != "" || len(compare(res.before, again)) == 0 {
		return
	}
	res.before, res.repeated = again, true
	res.differences = compare(again, res.after)
	if res.unrelated = len(res.differences) == 0; res.unrelated {
		res.before, res.after = nil, nil
	}
}

// ask makes a call with a script of a controller. why says why it cannot be made.
func (r *run) ask(ctx context.Context, c *loaded, script *hook.Script, j *job, parent *object.Object) (a *answer, why string, err error) {
	req, err := c.request(j, parent)
	if err != nil {
		return nil, "", err
	}
	if req.Shape != hook.Customizing {
		failed, why, err := r.relate(ctx, c, j, req)
		if failed != nil {
			return answerOf(nil, failed), "", nil
		}
		if err != nil || why != "" {
			return nil, why, err
		}
	}
	response, failed := script.Call(ctx, req)
	if err := canceled(ctx, failed); err != nil {
		return nil, "", err
	}
	return answerOf(response, failed), "", nil
}

// canceled returns the error of ctx if a call failed because it is done.
func canceled(ctx context.Context, failed error) error {
	if engine.IsKind(failed, engine.KindCanceled) {
		return ctx.Err()
	}
	return nil
}

// request returns the request of a recorded call, without related objects, as the controller makes it.
func (c *loaded) request(j *job, parent *object.Object) (*hook.Request, error) {
	req := &hook.Request{Shape: c.Shape, Controller: c.given, Parent: parent, Children: &object.Set{}, Finalizing: j.call.Finalizing, Now: j.call.Now,
		Draws: &hook.Draws{Known: j.call.Random},
	}
	if j.isCustomize() {
		req.Shape = hook.Customizing
	}
	var err error
	if req.Expect, err = c.Expect(parent); err != nil {
		return nil, err
	}
	if j.call.Revision != "" {
		req.Expect.Selector = nil // that of the parent as it is may be another one
	}
	for _, kind := range c.children {
		req.Children.Declare(kind)
	}
	return req, j.put(req.Children, j.call.Children, c.declares)
}

// relate sets the related objects of a request. If the rules of the customize hook differ from those of the recording, they may select
// objects that are not recorded: why says so. failed is an error of the customize hook.
func (r *run) relate(ctx context.Context, c *loaded, j *job, req *hook.Request) (failed error, why string, err error) {
	if c.Customize == nil {
		return nil, "", nil
	}
	recorded := &object.Set{}
	if err := j.put(recorded, j.call.Related, func(object.Kind) bool { return true }); err != nil {
		return nil, "", err
	}
	if req.Related = recorded; c == j.recorded {
		return nil, "", nil
	}
	rules, why, failed := c.rules(ctx, j, req)
	if failed != nil || why != "" {
		return failed, why, canceled(ctx, failed)
	}
	var before []hook.RelatedRule
	if j.recorded != nil && j.recorded.Customize != nil {
		if before, why, failed = j.recorded.rules(ctx, j, req); failed != nil || why != "" {
			return nil, "the rules of the recorded customize hook are not known: " + textOf(failed, why), canceled(ctx, failed)
		}
	} else if j.recorded == nil {
		return nil, "the rules of the recorded customize hook are not known: its script is not in the recording", nil
	}
	if same(any(recording.Rules(before)), any(recording.Rules(rules))) {
		return nil, "", nil
	}
	req.Related, why = c.choose(req.Parent, before, rules, recorded)
	return nil, why, nil
}

// textOf returns the text of an error, or else another text.
func textOf(err error, otherwise string) string {
	if err != nil {
		return err.Error()
	}
	return otherwise
}

// rules calls the customize hook for the parent of a request.
func (c *loaded) rules(ctx context.Context, j *job, req *hook.Request) (rules []hook.RelatedRule, why string, failed error) {
	script, why := c.script(hook.Customize, j.call)
	if why != "" {
		return nil, why, nil
	}
	response, err := script.Call(ctx, &hook.Request{Shape: hook.Customizing, Controller: c.given, Parent: req.Parent, Children: req.Children, Now: req.Now, Draws: req.Draws})
	if err != nil {
		return nil, "", err
	}
	return response.Related, "", nil
}

// choose returns the recorded objects that rules select. why is not "" if they may select others too, which the rules of the recording
// did not.
func (c *loaded) choose(parent *object.Object, before, rules []hook.RelatedRule, recorded *object.Set) (chosen *object.Set, why string) {
	wanted, err := related.Rules(parent, rules, c.finder, c.RelatedScope)
	if err != nil {
		return nil, err.Error()
	}
	known, err := related.Rules(parent, before, c.finder, c.RelatedScope)
	if err != nil {
		return nil, err.Error()
	}
	for i, rule := range wanted {
		if !slices.ContainsFunc(known, func(k related.Rule) bool { return covers(k, rule) }) {
			return nil, fmt.Sprintf("the related objects of rule %s (%s) were not recorded", hook.RelatedField(i), describeRule(rules[i]))
		}
		if rule.Query.Namespaces != nil && len(known) > 1 {
			return nil, fmt.Sprintf("which objects rule %s (%s) selects is not known, since labels of namespaces are not recorded", hook.RelatedField(i), describeRule(rules[i]))
		}
	}
	return related.Select(wanted, func(rule related.Rule) (found []*object.Object) {
		query := rule.Query
		query.Namespaces = nil // the only rule of the recording had the same
		for _, o := range recorded.Group(rule.ObjectKind()) {
			if query.Matches(&selection.Subject{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels()}) {
				found = append(found, o)
			}
		}
		return found
	}), ""
}

// describeRule returns a rule as text.
func describeRule(rule hook.RelatedRule) string {
	text := rule.Resource + " in " + rule.APIVersion
	if rule.Namespace != "" {
		text += ", namespace " + rule.Namespace
	}
	return text
}

// covers reports whether the objects of a rule are among those of a rule of the recording, as far as the rules show it.
func covers(recorded, rule related.Rule) bool {
	have, want := recorded.Query, rule.Query
	sameSelector := func(a, b fmt.Stringer) bool { return a.String() == b.String() }
	switch {
	case recorded.GroupVersionResource != rule.GroupVersionResource:
		return false
	case have.Namespace != "" && have.Namespace != want.Namespace:
		return false
	case have.Names != nil && (want.Names == nil || slices.ContainsFunc(want.Names, func(name string) bool { return !slices.Contains(have.Names, name) })):
		return false
	case have.Namespaces != nil && (want.Namespaces == nil || !sameSelector(have.Namespaces, want.Namespaces)):
		return false
	case have.Namespaces == nil && want.Namespaces != nil:
		return false
	}
	return have.Labels == nil || have.Labels.Empty() || want.Labels != nil && sameSelector(have.Labels, want.Labels)
}
