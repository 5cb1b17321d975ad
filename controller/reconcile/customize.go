package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/throttle"
)

// relate shows each variant of a parent the objects that the customize hook wants the other hooks to see, a group for
// every rule; none when there is no customize hook. While a cache that is needed is being filled, the error asks to look
// again.
func (t *turn) relate(ctx context.Context, parent *object.Object, variants []variant) error {
	if t.Customize == nil {
		t.relatedCaches.Forget(related.Parent{Controller: t.Reconciler, Ref: object.RefOf(parent)}) // that the version before asked for
		return nil
	}
	kept := t.customizedOf(object.RefOf(parent))
	rules, answers := make([][]related.Rule, len(variants)), make([]*customizeAnswer, len(variants))
	for i, v := range variants {
		var err error
		if answers[i], err = t.customize(ctx, parent, v, kept); err == nil {
			rules[i], err = related.Rules(v.parent, answers[i].rules, t.Discover, t.HomeOnly)
		}
		if err != nil {
			return v.wrap(err)
		}
	}
	caches := t.needed(parent, kept, answers, slices.Concat(rules...))
	for i := range variants {
		for n, rule := range rules[i] {
			if err := caches.Ready(rule); err != nil {
				return fmt.Errorf("%s of the customize hook: %w", hook.RelatedField(n), err)
			}
		}
		variants[i].related = related.Select(rules[i], caches.Find)
	}
	kept.shown = true
	return nil
}

// needed gives the caches that rules are about, after it has the parent look for that, unless it does already.
func (t *turn) needed(parent *object.Object, kept *customizeState, answers []*customizeAnswer, rules []related.Rule) related.View {
	if kept.caches == nil || !slices.Equal(kept.used, answers) || !slices.EqualFunc(kept.looked, rules, related.Rule.SameResource) {
		kept.used, kept.looked = answers, rules
		kept.caches = t.watchRelated(object.RefOf(parent), rules)
		t.mu.Lock()
		defer t.mu.Unlock()
		maps.DeleteFunc(kept.answers, func(_ string, a *customizeAnswer) bool { return !slices.Contains(answers, a) })
	}
	return kept.caches
}

// customized is what is remembered for a parent of its customize hook's answers.
type customizeState struct {
	answers map[string]*customizeAnswer // by the name of the revision

	// What the parent looks for because of them, once discovery knew the resources. Only the parent's reconcile uses it.
	used   []*customizeAnswer
	looked []related.Rule
	caches related.View
	shown  bool // the related objects, to the other hooks
}

// An answerOfCustomize is remembered until the parent changes, or its time is over.
type customizeAnswer struct {
	throttle.Question
	at     time.Time
	period int // see hook.Fallback
	rules  []hook.RelatedRule
}

func (t *turn) customizedOf(parent object.Ref) *customizeState {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.customized[parent]
	if kept == nil {
		kept = &customizeState{answers: map[string]*customizeAnswer{}}
		t.customized[parent] = kept
	}
	return kept
}

// customize asks the customize hook about a variant of parent, unless it has answered about this version of it.
func (t *turn) customize(ctx context.Context, parent *object.Object, v variant, kept *customizeState) (*customizeAnswer, error) {
	key, q, now := object.RefOf(parent), throttle.QuestionAbout(parent, hook.Customize), time.Now()
	last := kept.answers[v.revision]
	standsIn, period := t.FallbackActive(hook.Customize)
	if last != nil && last.Question == q && (t.CustomizeFor == 0 || now.Sub(last.at) < t.CustomizeFor) && last.period == period && !t.ProbeDue(key) {
		return last, nil
	}
	remembered := &customizeAnswer{Question: q, at: now, period: period}
	if v.customize != nil { // an older script may have had none
		if !standsIn {
			if err := t.customizing.Admit(key, q, now); err != nil {
				return nil, err
			}
		}
		req := hook.Request{Shape: hook.Customizing, Controller: t.Controller, Parent: parent, Children: v.children, Versioned: t.versionedKinds()}
		if v.revision != "" {
			req = past(req, v)
		}
		answer, err := v.customize.Call(ctx, &req)
		err = redact.In(ctx).Error(err) // before anybody remembers it
		if err != nil {
			t.noteCanary(key, v.wrap(err))
		}
		if err = t.customizing.Note(key, q, err, now); err != nil {
			return nil, err
		}
		remembered.rules = answer.Related
	}
	t.mu.Lock()
	kept.answers[v.revision] = remembered
	t.mu.Unlock()
	return remembered, nil
}

// forgetRelated drops what is kept for a parent that is gone.
func (l *Reconciler) forgetRelated(parent object.Ref) {
	l.mu.Lock()
	delete(l.current.Load().customized, parent)
	l.mu.Unlock()
	l.relatedCaches.Forget(related.Parent{Controller: l, Ref: parent})
}

// rediscover queues the parents whose customize hook asked for resources of a group in which a definition changed.
func (l *Reconciler) Rediscover(group string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	inGroup := func(rule hook.RelatedRule) bool {
		gv, err := schema.ParseGroupVersion(rule.APIVersion)
		return err == nil && gv.Group == group
	}
	for parent, kept := range l.current.Load().customized {
		for _, answer := range kept.answers {
			if slices.ContainsFunc(answer.rules, inGroup) {
				l.Queue.Enqueue(parent, queue.RelatedChanged)
				break
			}
		}
	}
}

// watchRelated has events of what the rules select queue the parent. Each resource is reported to SeesRelated before its cache
// is opened.
func (l *Reconciler) watchRelated(parent object.Ref, rules []related.Rule) related.View {
	if l.SeesRelated != nil {
		for _, rule := range rules {
			l.SeesRelated(rule.Resource)
			if rule.Query.Namespaces != nil {
				l.SeesRelated(related.Namespaces)
			}
		}
	}
	return l.relatedCaches.Watch(related.Parent{Controller: l, Ref: parent}, rules)
}

// QueueRelated implements related.Controller.
func (l *Reconciler) QueueRelated(parent object.Ref) { l.Queue.Enqueue(parent, queue.RelatedChanged) }
