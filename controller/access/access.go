// Package access decides which objects a controller may read.
//
// The server fills the caches with its own permissions, and all controllers share them. So before an object from a cache reaches
// a script or a webhook of a controller with an account, a [Reviewer] asks the API server, by SubjectAccessReviews, whether the
// account may list and watch such objects. It remembers each answer for a minute, or until a role or a role binding that
// concerns the account changes.
package access

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/account"
	"metascript/controller/apiserver"
	"metascript/controller/informer"
)

// A Scope is a set of objects of one resource.
type Scope struct {
	schema.GroupResource
	Namespace string // "" is all namespaces, or a cluster-scoped resource
	Name      string // of one object; "" is all objects
}

// wider returns the scopes that include s, from the widest to s itself: an account that may read one of them may read s.
func (s Scope) wider() []Scope {
	all := []Scope{{GroupResource: s.GroupResource}}
	if s.Namespace != "" {
		all = append(all, Scope{GroupResource: s.GroupResource, Namespace: s.Namespace})
	}
	if s.Name != "" {
		all = append(all, s)
	}
	return all
}

// verbs are those that an account needs for the objects in a cache.
var verbs = []string{"list", "watch"}

// Settling is how long the API server may use old roles after we have seen that one has changed: it has a cache of its own.
const Settling = 5 * time.Second

// How long answers are remembered.
const (
	answerAge     = time.Minute
	settlingAge   = time.Second // of answers that were given while the API server may use old roles
	mostAnswers   = 1 << 16
	reviewTimeout = 10 * time.Second
)

// A Creator creates SubjectAccessReviews. The client of the API server implements it.
type Creator interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// A Reviewer finds out what accounts may read. It is safe for concurrent use.
type Reviewer struct {
	reviews Creator
	changed func(account.Account)
	watch   *watch
	flights singleflight.Group

	mu       sync.Mutex                       // guards the fields below; no request is sent while it is locked
	answers  *simplelru.LRU[question, answer] // the answers of the API server
	accounts map[account.Account]*changes     // of the accounts in use
}

// A question is one SubjectAccessReview.
type question struct {
	account.Account
	verb string
	Scope
}

func (q question) String() string {
	return strings.Join([]string{q.Account.User(), q.verb, q.GroupResource.String(), q.Scope.Namespace, q.Scope.Name}, " ")
}

// An answer is the answer to a question.
type answer struct {
	allowed bool
	at      time.Time
}

// New returns a Reviewer. It opens its watches when the first account is used. It calls changed, which must not block, when what
// an account in use may do may have changed, or when the account was created or deleted.
func New(reviews Creator, caches *informer.Factory, changed func(account.Account)) *Reviewer {
	answers, err := simplelru.NewLRU[question, answer](mostAnswers, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	r := &Reviewer{reviews: reviews, changed: changed, answers: answers, accounts: map[account.Account]*changes{}}
	r.watch = newWatch(caches, r.affected)
	return r
}

// Close closes the watches.
func (r *Reviewer) Close() { r.watch.close() }

// use records that a controller uses an account, and opens the watches.
func (r *Reviewer) use(who account.Account) {
	r.mu.Lock()
	if r.accounts[who] == nil {
		r.accounts[who] = &changes{in: map[string]time.Time{}}
	}
	r.mu.Unlock()
	r.watch.open()
}

// Exists returns a *DeniedError if the account does not exist, and another error if it cannot find that out.
func (r *Reviewer) Exists(ctx context.Context, who account.Account) error {
	if who.IsServer() {
		return nil
	}
	r.use(who)
	exists, err := r.watch.exists(ctx, who)
	switch {
	case err != nil:
		return fmt.Errorf("find out whether %s exists: %w", who, err)
	case !exists:
		return &DeniedError{Account: who, Missing: true}
	}
	return nil
}

// MayRead returns a *DeniedError if the account may not list and watch the objects of a scope, and another error if it cannot
// find that out. The server itself may read everything.
func (r *Reviewer) MayRead(ctx context.Context, who account.Account, s Scope) error {
	if who.IsServer() {
		return nil
	}
	if err := r.Exists(ctx, who); err != nil {
		return err
	}
	var missing []string
	for _, verb := range verbs {
		allowed, err := r.allowed(ctx, who, verb, s)
		if err != nil {
			return err
		}
		if !allowed {
			missing = append(missing, verb)
		}
	}
	if len(missing) > 0 {
		return &DeniedError{Account: who, Verbs: missing, Scope: s}
	}
	return nil
}

// allowed reports whether the account may do verb in a scope, or in one that includes it.
func (r *Reviewer) allowed(ctx context.Context, who account.Account, verb string, s Scope) (bool, error) {
	for _, scope := range s.wider() {
		if allowed, err := r.answer(ctx, question{who, verb, scope}); allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

// answer returns the remembered answer to a question, or else asks the API server.
func (r *Reviewer) answer(ctx context.Context, q question) (bool, error) {
	if known, found := r.remembered(q); found {
		return known, nil
	}
	select {
	case shared := <-r.flights.DoChan(q.String(), func() (any, error) { return r.ask(q) }):
		if shared.Err != nil {
			return false, fmt.Errorf("ask the API server whether %s may %s %s: %w", q.Account, q.verb, q.Scope.GroupResource, shared.Err)
		}
		return shared.Val.(bool), nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// remembered returns the answer that is remembered, if it is still used.
func (r *Reviewer) remembered(q question) (allowed, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, found := r.answers.Get(q)
	if !found {
		return false, false
	}
	changed, age := r.accounts[q.Account].at(q.Scope.Namespace), time.Since(a.at)
	switch {
	case !a.at.After(changed), age >= answerAge:
		return false, false
	case a.at.Before(changed.Add(Settling)) && age >= settlingAge:
		return false, false
	}
	return a.allowed, true
}

// ask asks the API server. Concurrent calls share one request, so it has its own timeout, and not the context of one of them.
func (r *Reviewer) ask(q question) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reviewTimeout)
	defer cancel()
	at := time.Now()
	review, err := r.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: q.Account.User(), Groups: q.Account.Groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.Group, Resource: q.Resource, Namespace: q.Scope.Namespace, Name: q.Scope.Name,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, apiserver.Cause(err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers.Add(q, answer{allowed, at})
	return allowed, nil
}

// ChangedAt returns when what an account in use may do may have changed last; the zero time if that is not known.
func (r *Reviewer) ChangedAt(who account.Account) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.accounts[who]; c != nil {
		return c.last
	}
	return time.Time{}
}

// changes are the times at which what an account may do may have changed last.
type changes struct {
	everywhere time.Time
	in         map[string]time.Time // by namespace: a RoleBinding has no effect outside of its own
	last       time.Time            // of all
	notified   time.Time            // when changed was called last
}

// at returns the last change that concerns answers about a namespace; "" is all namespaces.
func (c *changes) at(namespace string) time.Time {
	if in := c.in[namespace]; in.After(c.everywhere) {
		return in
	}
	return c.everywhere
}

// affected records that what some accounts may do in a namespace may have changed; "" is everywhere. concerns reports whether that is
// so for an account. It calls changed for an account at most once in Settling, so that who may edit roles cannot have everything
// reviewed all the time: who is notified has to look again after twice that time.
func (r *Reviewer) affected(namespace string, concerns func(account.Account) bool) {
	var which []account.Account
	r.mu.Lock()
	for who, c := range r.accounts {
		if !concerns(who) {
			continue
		}
		now := time.Now()
		if c.last = now; namespace == "" {
			c.everywhere = now
		} else {
			c.in[namespace] = now
		}
		if now.Sub(c.notified) >= Settling {
			c.notified = now
			which = append(which, who)
		}
	}
	r.mu.Unlock()
	for _, who := range which {
		r.changed(who)
	}
}
