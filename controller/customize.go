package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/selection"
)

// relate gives the objects that the customize hook wants the other hooks to see, a group for every rule; nil when there
// is no customize hook. While a cache that is needed is being filled, the error asks to look again.
func (l *loop) relate(ctx context.Context, parent *object.Object) (*object.Set, error) {
	if l.Customize == nil {
		return nil, nil
	}
	asked, err := l.customize(ctx, parent)
	if err != nil {
		return nil, err
	}
	rules, err := relatedRules(l.Binding, parent, asked.rules, l.Discover)
	if err != nil {
		return nil, err
	}
	if asked.caches == nil || !slices.EqualFunc(asked.looked, rules, relatedRule.sameResource) {
		asked.looked, asked.caches = rules, l.lookFor(ctx, object.RefOf(parent), rules)
	}
	for i, rule := range rules {
		if err := asked.caches.ready(rule); err != nil {
			return nil, fmt.Errorf("%s of the customize hook: %w", hook.RelatedField(i), err)
		}
	}
	return selectRelated(rules, asked.caches.find), nil
}

// relatedRules looks up the resources of the rules, and keeps a namespaced parent at home when the hook is of version 1.
func relatedRules(b *Binding, parent *object.Object, asked []hook.RelatedRule, in finder) ([]relatedRule, error) {
	rules := make([]relatedRule, 0, len(asked))
	for i, rule := range asked {
		found, err := in.ByName(rule.APIVersion, rule.Resource)
		if err == nil && b.HomeOnly && found.Namespaced {
			rule.Query, err = atHome(parent, rule.Query)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of the customize hook: %w", hook.RelatedField(i), err)
		}
		rules = append(rules, relatedRule{found, rule.Query})
	}
	return rules, nil
}

// atHome restricts a query to the parent's namespace, if it has one.
func atHome(parent *object.Object, q selection.Query) (selection.Query, error) {
	home := parent.GetNamespace()
	switch {
	case home == "":
	case q.Namespaces != nil:
		return q, fmt.Errorf("namespaceSelector: %s sees only its own namespace, unless the customize hook is of version v2", object.Describe(parent))
	case q.Namespace != "" && q.Namespace != home:
		return q, fmt.Errorf("namespace is %q: %s sees only its own namespace, unless the customize hook is of version v2", q.Namespace, object.Describe(parent))
	default:
		q.Namespace = home
	}
	return q, nil
}

// An answerOfCustomize is remembered until the parent changes, or its time is over.
type answerOfCustomize struct {
	question
	at    time.Time
	rules []hook.RelatedRule

	// What the parent looks for because of it, once discovery knew the resources. Only the parent's reconcile uses them.
	looked []relatedRule
	caches relatedCaches
}

// customize asks the customize hook, unless it has answered about this version of the parent.
func (l *loop) customize(ctx context.Context, parent *object.Object) (*answerOfCustomize, error) {
	key, q, now := object.RefOf(parent), questionAbout(parent, hook.Customize), time.Now()
	l.mu.Lock()
	last := l.customized[key]
	l.mu.Unlock()
	if last != nil && last.question == q && (l.CustomizeFor == 0 || now.Sub(last.at) < l.CustomizeFor) {
		return last, nil
	}
	if err := l.customizing.admit(key, q, now); err != nil {
		return nil, err
	}
	answer, err := l.Customize.Call(ctx, &hook.Request{
		Shape: hook.Customizing, Controller: l.Controller, Parent: parent, Versioned: l.versionedKinds(),
	})
	if err = l.customizing.note(key, q, err, now); err != nil {
		return nil, err
	}
	remembered := &answerOfCustomize{question: q, at: now, rules: answer.Related}
	l.mu.Lock()
	l.customized[key] = remembered
	l.mu.Unlock()
	return remembered, nil
}

// forgetRelated drops what is kept for a parent that is gone.
func (l *loop) forgetRelated(parent object.Ref) {
	l.customizing.forget(parent)
	l.mu.Lock()
	delete(l.customized, parent)
	l.mu.Unlock()
	l.related.drop(parent)
}

// rediscover queues the parents whose customize hook asked for resources of a group in which a definition changed.
func (l *loop) rediscover(group string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for parent, answer := range l.customized {
		if slices.ContainsFunc(answer.rules, func(rule hook.RelatedRule) bool {
			gv, err := schema.ParseGroupVersion(rule.APIVersion)
			return err == nil && gv.Group == group
		}) {
			l.queue.add(parent, RelatedChanged)
		}
	}
}

// holds gives the parents for which a script is held.
func (l *loop) holds() holding {
	if held := l.breaker.holds(); held.parents > 0 {
		return held
	}
	return l.customizing.holds()
}
