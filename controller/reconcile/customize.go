package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/throttle"
)

// customized is what is remembered for a parent of its customize hook's answers.
type customizeState struct {
	mu      sync.Mutex                  // guards answers
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

func newCustomizeState() *customizeState {
	return &customizeState{answers: map[string]*customizeAnswer{}}
}

// asksFor reports whether an answer is about a resource in group.
func (s *customizeState) asksFor(group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, answer := range s.answers {
		for _, rule := range answer.rules {
			if gv, err := schema.ParseGroupVersion(rule.APIVersion); err == nil && gv.Group == group {
				return true
			}
		}
	}
	return false
}

// forget drops all answers.
func (s *customizeState) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.used, s.looked, s.caches, s.shown = map[string]*customizeAnswer{}, nil, nil, nil, false
}

// relate shows each variant of a parent the objects that the customize hook wants the other hooks to see, a group for
// every rule; none when there is no customize hook. While a cache that is needed is being filled, the error asks to look
// again.
func (c *caller) relate(ctx context.Context, parent *object.Object, variants []variant) error {
	if c.v.Customize == nil {
		c.related.Forget(related.Parent{Controller: c.controller, Ref: object.RefOf(parent)}) // that the version before asked for
		return nil
	}
	kept := c.customized
	rules, answers := make([][]related.Rule, len(variants)), make([]*customizeAnswer, len(variants))
	for i, v := range variants {
		var err error
		if answers[i], err = c.customize(ctx, parent, v, kept); err == nil {
			rules[i], err = related.Rules(v.parent, answers[i].rules, c.b.Discover, c.b.HomeOnly)
		}
		if err != nil {
			return v.wrap(err)
		}
	}
	caches := c.needed(parent, kept, answers, slices.Concat(rules...))
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
func (c *caller) needed(parent *object.Object, kept *customizeState, answers []*customizeAnswer, rules []related.Rule) related.View {
	if kept.caches == nil || !slices.Equal(kept.used, answers) || !slices.EqualFunc(kept.looked, rules, related.Rule.SameResource) {
		kept.used, kept.looked = answers, rules
		kept.caches = c.watchRelated(object.RefOf(parent), rules)
		kept.mu.Lock()
		defer kept.mu.Unlock()
		maps.DeleteFunc(kept.answers, func(_ string, a *customizeAnswer) bool { return !slices.Contains(answers, a) })
	}
	return kept.caches
}

// customize calls the customize hook about a variant of parent, unless it has answered about this version of it.
func (c *caller) customize(ctx context.Context, parent *object.Object, v variant, kept *customizeState) (*customizeAnswer, error) {
	key, q, now := object.RefOf(parent), throttle.QuestionAbout(parent, hook.Customize), time.Now()
	last := kept.answers[v.revision]
	_, period := c.v.FallbackActive(hook.Customize)
	if last != nil && last.Question == q && (c.v.CustomizeFor == 0 || now.Sub(last.at) < c.v.CustomizeFor) && last.period == period && !c.v.ProbeDue(key) {
		return last, nil
	}
	answered := &customizeAnswer{Question: q, at: now, period: period}
	if v.customize != nil { // an older script may have had none
		_, err := c.guard(hook.Customize, c.v.customizing, parent, false, func() (err error) {
			answered.rules, err = c.callCustomize(ctx, parent, v)
			return v.wrap(err)
		})
		if err != nil {
			return nil, err
		}
	}
	kept.mu.Lock()
	kept.answers[v.revision] = answered
	kept.mu.Unlock()
	return answered, nil
}

// callCustomize calls the customize hook about a variant of parent.
func (c *caller) callCustomize(ctx context.Context, parent *object.Object, v variant) ([]hook.RelatedRule, error) {
	req := hook.Request{Shape: hook.Customizing, Controller: c.b.Controller, Parent: parent, Children: v.children, Versioned: c.b.versionedKinds()}
	if v.revision != "" {
		req = past(req, v)
	}
	answer, err := v.customize.Call(ctx, &req)
	if err != nil {
		return nil, redact.In(ctx).Error(err) // before anybody remembers it
	}
	return answer.Related, nil
}

// watchRelated has events of what the rules select queue the parent. Each resource is reported to SeesRelated before its cache
// is opened.
func (c *caller) watchRelated(parent object.Ref, rules []related.Rule) related.View {
	if c.b.SeesRelated != nil {
		for _, rule := range rules {
			c.b.SeesRelated(rule.Resource)
			if rule.Query.Namespaces != nil {
				c.b.SeesRelated(related.Namespaces)
			}
		}
	}
	return c.related.Watch(related.Parent{Controller: c.controller, Ref: parent}, rules)
}
