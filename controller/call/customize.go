package call

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/access"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/throttle"
)

// A CustomizeCache has the cached responses of the customize hook for one parent, and the caches of the objects that they select.
type CustomizeCache struct {
	// mu guards Responses, which NamesGroup reads concurrently with a reconcile. The reconcile of the parent is the only writer,
	// and reads without it.
	mu        sync.Mutex
	Responses map[string]*customizeResult // by the name of the revision; "" is the current parent

	// The fields below are used by the reconcile of the parent only. They are set when discovery has found all resources that
	// the responses name.
	used     []*customizeResult // the responses that caches was opened for, one for each variant
	Rules    []related.Rule     // their rules
	caches   related.View       // nil: none was opened
	Selected bool               // the other hooks were shown related objects
}

// A customizeResult is a cached response of the customize hook. It is valid while the parent has the same UID and generation, the
// controller object is the same, the fallback has not switched, and build.Hooks.CustomizeTTL has not passed.
type customizeResult struct {
	throttle.Input
	controller *object.Object // as the hook got it
	CalledAt   time.Time      // when the hook was called
	period     int            // of the fallback, see hook.Fallback.Period
	rules      []hook.RelatedRule
}

// NewCustomizeCache returns a CustomizeCache without responses.
func NewCustomizeCache() *CustomizeCache {
	return &CustomizeCache{}
}

// NamesGroup reports whether a cached response names a resource in an API group.
func (s *CustomizeCache) NamesGroup(group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, result := range s.Responses {
		for _, rule := range result.rules {
			if gv, err := schema.ParseGroupVersion(rule.APIVersion); err == nil && gv.Group == group {
				return true
			}
		}
	}
	return false
}

// Selects reports whether a rule is for objects of the kind of the parent, so that the parent may be one of its own related objects.
// The reconcile of the parent calls it.
func (s *CustomizeCache) Selects(kind object.Kind) bool {
	return slices.ContainsFunc(s.Rules, func(rule related.Rule) bool { return rule.ObjectKind() == kind })
}

// Forget drops all responses. It does not close the caches: related.Caches.Forget does.
func (s *CustomizeCache) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Responses, s.used, s.Rules, s.caches, s.Selected = nil, nil, nil, nil, false
}

// Relate sets the related objects of each variant of a parent: a group for each kind that the rules of the customize hook name,
// also if nothing matches. It leaves them nil if there is no customize hook. Until the caches that are needed have synced, the error is a
// kube.ErrRequeue.
func (c *Caller) Relate(ctx context.Context, parent *object.Object, variants []Variant) error {
	if c.Version.Customize == nil {
		c.Caches.Forget(related.Parent{Controller: c.Controller, Ref: object.RefOf(parent)}) // opened by the previous version
		return nil
	}
	cached := c.Customized
	rules, results := make([][]related.Rule, len(variants)), make([]*customizeResult, len(variants))
	for i, v := range variants {
		var err error
		if results[i], err = c.customize(ctx, parent, v, cached); err == nil {
			rules[i], err = related.Rules(v.Parent, results[i].rules, c.Binding.Discover, c.Binding.RelatedScope)
		}
		if err != nil {
			return v.wrap(err)
		}
	}
	for i := range variants {
		if err := c.eachRule(rules[i], func(rule related.Rule) error { return c.mayRead(ctx, rule) }); err != nil {
			c.Caches.Forget(related.Parent{Controller: c.Controller, Ref: object.RefOf(parent)})
			cached.caches = nil
			return variants[i].wrap(err)
		}
	}
	caches := c.openCaches(parent, cached, results, slices.Concat(rules...))
	for i := range variants {
		err := c.eachRule(rules[i], func(rule related.Rule) error {
			if err := caches.Ready(rule); err != nil {
				return err
			}
			return c.mayReadSelected(ctx, rule, caches)
		})
		if err != nil {
			return err
		}
		variants[i].Related = related.Select(rules[i], func(rule related.Rule) []*object.Object { return c.find(ctx, rule, caches) })
	}
	cached.Selected = true
	return nil
}

// Reselect returns the related objects of a parent as the caches have them now. ok is false if that needs more than the last Relate did,
// such as a call of the customize hook.
func (c *Caller) Reselect(parent *object.Object) (found []*object.Object, ok bool) {
	cached, last := c.Customized, c.Customized.Responses[""]
	if last == nil || cached.caches == nil || last.Input != throttle.InputFor(parent, hook.Customize) || last.controller != c.controller() {
		return nil, false
	}
	rules, err := related.Rules(parent, last.rules, c.Binding.Discover, c.Binding.RelatedScope)
	if err != nil || !slices.EqualFunc(rules, cached.Rules, related.Rule.SameResource) || c.eachRule(rules, cached.caches.Ready) != nil {
		return nil, false
	}
	return slices.Collect(related.Select(rules, cached.caches.Find).All()), true
}

// eachRule calls check for each rule, until one fails. The error names the rule.
func (c *Caller) eachRule(rules []related.Rule, check func(related.Rule) error) error {
	for n, rule := range rules {
		if err := check(rule); err != nil {
			return fmt.Errorf("%s of the customize hook: %w", hook.RelatedField(n), err)
		}
	}
	return nil
}

// mayRead returns an error if the account of the controller may not list and watch what a rule can select. A rule that selects
// namespaces by their labels needs the namespaces; see mayReadSelected for the rest.
func (c *Caller) mayRead(ctx context.Context, rule related.Rule) error {
	if rule.Query.Namespaces != nil {
		return c.Binding.Access.MayRead(ctx, access.Scope{GroupResource: related.Namespaces.GroupResource()})
	}
	all := access.Scope{GroupResource: rule.GroupResource()}
	if rule.Namespaced {
		all.Namespace = rule.Query.Namespace
	}
	err := c.Binding.Access.MayRead(ctx, all)
	if err == nil || len(rule.Query.Names) == 0 || len(rule.Query.Names) > mostReviewedNames {
		return err
	}
	for _, name := range rule.Query.Names {
		one := all
		one.Name = name
		if err := c.Binding.Access.MayRead(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// mostReviewedNames is for how many names of a rule the permission for each single object is enough.
const mostReviewedNames = 20

// mayReadSelected returns an error if a rule selects namespaces by their labels, and the account of the controller may not list
// and watch the objects in one of them.
func (c *Caller) mayReadSelected(ctx context.Context, rule related.Rule, caches related.View) error {
	if rule.Query.Namespaces == nil || c.Binding.Access == nil {
		return nil
	}
	for _, namespace := range caches.Namespaces(rule) {
		if err := c.Binding.Access.MayRead(ctx, access.Scope{GroupResource: rule.GroupResource(), Namespace: namespace}); err != nil {
			return err
		}
	}
	return nil
}

// find returns the objects that a rule selects. A namespace may have got the labels of the rule after mayReadSelected: its objects are
// left out if the account of the controller may not read them. The change of the namespace queues the parent.
func (c *Caller) find(ctx context.Context, rule related.Rule, caches related.View) []*object.Object {
	found := caches.Find(rule)
	if rule.Query.Namespaces == nil || c.Binding.Access == nil {
		return found
	}
	return slices.DeleteFunc(found, func(o *object.Object) bool {
		return c.Binding.Access.MayRead(ctx, access.Scope{GroupResource: rule.GroupResource(), Namespace: o.GetNamespace()}) != nil
	})
}

// openCaches returns the caches of the resources that rules name. It opens them and registers the parent for their events,
// unless the parent is registered for the same rules. It drops responses that are not in results.
func (c *Caller) openCaches(parent *object.Object, cached *CustomizeCache, results []*customizeResult, rules []related.Rule) related.View {
	if cached.caches == nil || !slices.Equal(cached.used, results) || !slices.EqualFunc(cached.Rules, rules, related.Rule.SameResource) {
		cached.used, cached.Rules = results, rules
		cached.caches = c.watchRelated(object.RefOf(parent).Clone(), rules)
		cached.mu.Lock()
		defer cached.mu.Unlock()
		maps.DeleteFunc(cached.Responses, func(_ string, r *customizeResult) bool { return !slices.Contains(results, r) })
	}
	return cached.caches
}

// customize returns the response of the customize hook for a variant of parent: the cached one if it is valid and no probe of
// the script is due, or else that of a call. A failed call changes nothing in the cache.
func (c *Caller) customize(ctx context.Context, parent *object.Object, v Variant, cached *CustomizeCache) (*customizeResult, error) {
	key, question, now := object.RefOf(parent), throttle.InputFor(parent, hook.Customize), time.Now()
	last := cached.Responses[v.Revision]
	_, period := c.Version.FallbackActive(hook.Customize)
	if last != nil && last.Input == question && last.controller == c.controller() && (c.Version.CustomizeTTL == 0 || now.Sub(last.CalledAt) < c.Version.CustomizeTTL) && last.period == period && !c.Version.ProbeDue(key) {
		return last, nil
	}
	called := &customizeResult{Input: question, controller: c.controller(), CalledAt: now, period: period}
	if v.Customize != nil { // an older script may have no customize hook
		_, err := c.guard(hook.Customize, c.Version.CustomizeBreaker, parent, false, func() (err error) {
			called.rules, err = c.callCustomize(ctx, parent, v)
			return v.wrap(err)
		})
		if err != nil {
			return nil, err
		}
	}
	cached.mu.Lock()
	if cached.Responses == nil {
		cached.Responses = map[string]*customizeResult{}
	}
	cached.Responses[v.Revision] = called
	cached.mu.Unlock()
	return called, nil
}

// callCustomize calls the customize hook for a variant of parent.
func (c *Caller) callCustomize(ctx context.Context, parent *object.Object, v Variant) ([]hook.RelatedRule, error) {
	req := hook.Request{Shape: hook.Customizing, Controller: c.controller(), Parent: parent, Children: v.children, Versioned: c.Binding.VersionedKinds()}
	if v.Revision != "" {
		req = forRevision(req, v)
	}
	response, err := c.observed(ctx, hook.Customize, v.Revision, v.Customize, &req)
	if err != nil {
		return nil, redact.FromContext(ctx).Error(err) // before the breaker and the canary keep it
	}
	if v.Revision == "" {
		c.recordEvents(parent, response)
	}
	return response.Related, nil
}

// watchRelated registers the parent for events of the objects that the rules select: they queue it. It reports the rules to
// Binding.OnRelated before the caches of their resources are opened.
func (c *Caller) watchRelated(parent object.Ref, rules []related.Rule) related.View {
	if c.Binding.OnRelated != nil {
		c.Binding.OnRelated(parent, rules)
	}
	return c.Caches.Watch(related.Parent{Controller: c.Controller, Ref: parent}, rules)
}
