package call

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

// Related is what is remembered for a parent of its customize hook's answers.
type Related struct {
	mu      sync.Mutex         // guards answers
	Answers map[string]*answer // by the name of the revision

	// What the parent looks for because of them, once discovery knew the resources. Only the parent's reconcile uses it.
	used   []*answer
	Looked []related.Rule
	caches related.View
	Shown  bool // the related objects, to the other hooks
}

// An answer is remembered until the parent changes, or its time is over.
type answer struct {
	throttle.Question
	At     time.Time
	period int // see hook.Fallback
	rules  []hook.RelatedRule
}

func NewRelated() *Related {
	return &Related{Answers: map[string]*answer{}}
}

// AsksFor reports whether an answer is about a resource in group.
func (s *Related) AsksFor(group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, answer := range s.Answers {
		for _, rule := range answer.rules {
			if gv, err := schema.ParseGroupVersion(rule.APIVersion); err == nil && gv.Group == group {
				return true
			}
		}
	}
	return false
}

// Forget drops all answers.
func (s *Related) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Answers, s.used, s.Looked, s.caches, s.Shown = map[string]*answer{}, nil, nil, nil, false
}

// Relate shows each variant of a parent the objects that the customize hook wants the other hooks to see, a group for
// every rule; none when there is no customize hook. While a cache that is needed is being filled, the error asks to look
// again.
func (c *Caller) Relate(ctx context.Context, parent *object.Object, variants []Variant) error {
	if c.Version.Customize == nil {
		c.Caches.Forget(related.Parent{Controller: c.Controller, Ref: object.RefOf(parent)}) // that the version before asked for
		return nil
	}
	kept := c.Customized
	rules, answers := make([][]related.Rule, len(variants)), make([]*answer, len(variants))
	for i, v := range variants {
		var err error
		if answers[i], err = c.customize(ctx, parent, v, kept); err == nil {
			rules[i], err = related.Rules(v.Parent, answers[i].rules, c.Binding.Discover, c.Binding.ParentNamespaceOnly)
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
		variants[i].Related = related.Select(rules[i], caches.Find)
	}
	kept.Shown = true
	return nil
}

// needed gives the caches that rules are about, after it has the parent look for that, unless it does already.
func (c *Caller) needed(parent *object.Object, kept *Related, answers []*answer, rules []related.Rule) related.View {
	if kept.caches == nil || !slices.Equal(kept.used, answers) || !slices.EqualFunc(kept.Looked, rules, related.Rule.SameResource) {
		kept.used, kept.Looked = answers, rules
		kept.caches = c.watchRelated(object.RefOf(parent), rules)
		kept.mu.Lock()
		defer kept.mu.Unlock()
		maps.DeleteFunc(kept.Answers, func(_ string, a *answer) bool { return !slices.Contains(answers, a) })
	}
	return kept.caches
}

// customize calls the customize hook about a variant of parent, unless it has answered about this version of it.
func (c *Caller) customize(ctx context.Context, parent *object.Object, v Variant, kept *Related) (*answer, error) {
	key, q, now := object.RefOf(parent), throttle.QuestionAbout(parent, hook.Customize), time.Now()
	last := kept.Answers[v.Revision]
	_, period := c.Version.FallbackActive(hook.Customize)
	if last != nil && last.Question == q && (c.Version.CustomizeTTL == 0 || now.Sub(last.At) < c.Version.CustomizeTTL) && last.period == period && !c.Version.ProbeDue(key) {
		return last, nil
	}
	answered := &answer{Question: q, At: now, period: period}
	if v.Customize != nil { // an older script may have had none
		_, err := c.guard(hook.Customize, c.Version.Customizing, parent, false, func() (err error) {
			answered.rules, err = c.callCustomize(ctx, parent, v)
			return v.wrap(err)
		})
		if err != nil {
			return nil, err
		}
	}
	kept.mu.Lock()
	kept.Answers[v.Revision] = answered
	kept.mu.Unlock()
	return answered, nil
}

// callCustomize calls the customize hook about a variant of parent.
func (c *Caller) callCustomize(ctx context.Context, parent *object.Object, v Variant) ([]hook.RelatedRule, error) {
	req := hook.Request{Shape: hook.Customizing, Controller: c.Binding.Controller, Parent: parent, Children: v.children, Versioned: c.Binding.VersionedKinds()}
	if v.Revision != "" {
		req = past(req, v)
	}
	answer, err := v.Customize.Call(ctx, &req)
	if err != nil {
		return nil, redact.In(ctx).Error(err) // before anybody remembers it
	}
	return answer.Related, nil
}

// watchRelated has events of what the rules select queue the parent. Each resource is reported to OnRelated before its cache
// is opened.
func (c *Caller) watchRelated(parent object.Ref, rules []related.Rule) related.View {
	if c.Binding.OnRelated != nil {
		for _, rule := range rules {
			c.Binding.OnRelated(rule.Resource)
			if rule.Query.Namespaces != nil {
				c.Binding.OnRelated(related.Namespaces)
			}
		}
	}
	return c.Caches.Watch(related.Parent{Controller: c.Controller, Ref: parent}, rules)
}
