package shadow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/preview"
	"metascript/controller/throttle"
)

// A pass compares a candidate for the parents in the caches for which it was not compared yet, one after the other: the script that runs
// may not be called for them for a long time. It calls the script that runs too. Only the goroutine of the controller uses it.
type pass struct {
	of        *shadowed
	candidate *candidate
	asks      *preview.Previewer // of the version that runs
	last      *object.Ref        // the parent that was asked last: its caches of related objects stay open until the next was asked
	batch     []object.Ref       // the next parents
	past      map[types.UID]bool // the parents that cannot be compared
	left      *Left              // the first of past; nil: there is none
	done      bool               // there is no other parent
	until     time.Time          // when the next parent is asked; zero: now
}

// Left says why parents are not compared.
type Left struct {
	Parent object.Ref // the first one
	Why    string
}

const (
	maxBatch  = 256              // how many parents are looked up at once, so that the names of all are not kept
	askWithin = 5 * time.Second  // how long the caches of related objects are waited for
	askAgain  = 15 * time.Second // after they were not filled
)

// newPass returns the pass of a candidate. Its version that runs must have caches that are filled.
func newPass(of *shadowed, c *candidate) *pass {
	hooks := c.running.Hooks
	for name, of := range map[string]*hook.Hook{hook.Sync: &hooks.Sync, hook.Finalize: &hooks.Finalize} {
		if *of != nil && (c.hooks[name] == nil || c.beside[name] == nil) {
			*of = unasked{} // its answer is not compared, and it may be a webhook
		}
	}
	return &pass{of: of, candidate: c, asks: preview.New(c.binding, hooks, of.of.options.Related, nil), past: map[types.UID]bool{}}
}

// close ends the pass. p may be nil.
func (p *pass) close() {
	if p != nil {
		p.asks.Close()
	}
}

// unasked is a hook that is not called.
type unasked struct{}

// Call implements hook.Hook.
func (unasked) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return &hook.Response{}, nil
}

// isFilled reports whether the caches of the version that runs are filled.
func (c *candidate) isFilled() bool {
	return !slices.ContainsFunc(c.binding.Caches(), func(cache *informer.Informer) bool { return !cache.HasSynced() })
}

// passOn compares the candidate for the next parent of its pass. It returns false if there is nothing to do now.
func (s *shadowed) passOn(ctx context.Context) bool {
	c := s.current.Load()
	if p := s.pass; p != nil && p.candidate != c {
		p.close()
		s.pass = nil
	}
	s.mu.Lock()
	leads := s.input != nil && s.input.Leads
	s.mu.Unlock()
	if c == nil || !leads || !c.isFilled() {
		return false
	}
	if s.pass == nil {
		s.pass = newPass(s, c)
	}
	if s.missed.Swap(false) {
		s.pass.done = false
	}
	return s.pass.next(ctx)
}

// next compares the candidate for the next parent. It returns false if there is nothing to do now.
func (p *pass) next(ctx context.Context) bool {
	if p.done || time.Now().Before(p.until) {
		return false
	}
	if len(p.batch) == 0 {
		if p.batch = p.of.survey(maxBatch); len(p.batch) == 0 {
			p.done, p.last = true, nil
			p.close()
			p.of.publishNow()
			return true
		}
	}
	next := p.batch[0]
	p.batch = p.batch[1:]
	if parent := p.candidate.binding.Parent(next); parent != nil && !p.of.tally.parents[parent.GetUID()] && !p.past[parent.GetUID()] {
		p.compare(ctx, parent)
	}
	return true
}

// compare compares the candidate for a parent, and rests.
func (p *pass) compare(ctx context.Context, parent *object.Object) {
	c, uid := p.candidate, object.UIDOf(parent)
	if why := c.leaves(parent); why != "" {
		p.leave(parent, uid, why)
		return
	}
	var found *observe.Comparison
	took := p.of.of.inSlot(ctx, func() { found = p.ask(ctx, parent, uid) })
	if ctx.Err() != nil {
		return
	}
	if found != nil {
		if p.of.note(c, found); found.Result == observe.Dropped {
			p.leave(parent, uid, "the candidate exceeds a limit for it")
		}
	}
	p.of.rest(ctx, (share-1)*took)
}

// ask asks both versions about a parent. It returns nil if it cannot be compared, or not yet.
func (p *pass) ask(ctx context.Context, parent *object.Object, uid types.UID) *observe.Comparison {
	j := &job{candidate: p.candidate, about: observe.About{Kind: p.candidate.binding.Kind, Controller: p.candidate.binding.Name, Parent: object.RefOf(parent).Clone()}, uid: uid}
	answer := p.asks.Ask(ctx, parent, askWithin, func(one observe.Call) { j.calls = append(j.calls, one) })
	if p.last != nil && *p.last != j.about.Parent {
		p.asks.Forget(*p.last)
	}
	p.last, j.redactor = &j.about.Parent, answer.Redactor
	switch {
	case ctx.Err() != nil:
	case errors.Is(answer.Err, kube.ErrRequeue):
		p.until = time.Now().Add(askAgain)
	case p.candidate.covers(j.calls):
		return p.candidate.compare(ctx, j)
	case answer.Err != nil:
		p.leave(parent, uid, answer.Err.Error())
	case answer.Skipped != preview.NotReadable:
		p.leave(parent, uid, string(answer.Skipped))
	default:
		p.past[uid] = true // nothing may show that it exists
	}
	return nil
}

// leaves returns why a parent cannot be compared, without a call; "" if it may be.
func (c *candidate) leaves(parent *object.Object) string {
	name := hook.Sync
	if c.binding.Finalizing(parent) {
		name = hook.Finalize
	}
	admits := func(b *throttle.Breaker, name string) bool {
		return c.beside[name] == nil || b.Admit(object.RefOf(parent), throttle.InputFor(parent, name), time.Now()) == nil
	}
	switch {
	case c.hooks[name] == nil && c.hooks[hook.Customize] == nil:
		return fmt.Sprintf("the candidate does not serve the hook %s", name)
	case !admits(c.running.Breaker, name) || !admits(c.running.CustomizeBreaker, hook.Customize):
		return "the script that runs is not called for it, since it exceeded a limit"
	}
	return ""
}

// leave notes that a parent is not compared.
func (p *pass) leave(parent *object.Object, uid types.UID, why string) {
	p.past[uid] = true
	if p.left == nil {
		why, _, _ = strings.Cut(why, "\n")
		p.left = &Left{object.RefOf(parent).Clone(), why}
	}
}

// survey counts the parents of the share, and those that were compared. It forgets parents that do not exist any more, and returns at
// most n of those that were not compared yet.
func (s *shadowed) survey(n int) []object.Ref {
	c := s.current.Load()
	if c == nil || !c.isFilled() {
		return nil
	}
	var next []object.Ref
	compared, past, total := map[types.UID]bool{}, map[types.UID]bool{}, int64(0)
	for parent := range c.binding.ReconciledParents() {
		uid := parent.GetUID()
		if !isShared(uid, c.share) || c.binding.Only != nil && !c.binding.Only(object.RefOf(parent)) {
			continue
		}
		if c.binding.Shows(parent) {
			total++
		}
		switch {
		case s.tally.parents[uid]:
			compared[types.UID(strings.Clone(string(uid)))] = true
		case s.pass != nil && s.pass.past[uid]:
			past[types.UID(strings.Clone(string(uid)))] = true
		case len(next) < n && len(compared) < maxParents:
			next = append(next, object.RefOf(parent).Clone())
		}
	}
	if s.pass != nil {
		s.pass.past = past
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.parents, s.tally.Parents, s.tally.Total = compared, int64(len(compared)), total
	return next
}
