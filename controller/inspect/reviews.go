package inspect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/apiserver"
)

// Reviews are used for some seconds, so that the timeline of a parent with many children needs few requests. While the API server does not
// answer, earlier ones are used for longer: that is when people ask most. Who was never reviewed is refused.
const (
	reviewAge  = 10 * time.Second
	silentAge  = 5 * time.Minute
	silentTime = 3 * time.Second // how long an answer is waited for if there is an earlier one
	maxReviews = 4096
	maxToken   = 16 << 10 // bytes
)

// reviews asks the API server about tokens and rights, and remembers its answers.
type reviews struct {
	server Server

	mu     sync.Mutex // guards the fields below; no request is sent while it is locked
	users  *simplelru.LRU[digest, user]
	rights *simplelru.LRU[question, answer]
}

// A digest stands for a token, which is not kept.
type digest [sha256.Size]byte

// A user is the result of a TokenReview.
type user struct {
	authenticationv1.UserInfo
	at time.Time
}

// A question is one SubjectAccessReview.
type question struct {
	token digest
	authorizationv1.ResourceAttributes
}

// An answer is the answer to a question.
type answer struct {
	allowed bool
	at      time.Time
}

func newReviews(server Server) *reviews {
	users, err := simplelru.NewLRU[digest, user](maxReviews, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	rights, err := simplelru.NewLRU[question, answer](maxReviews, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &reviews{server: server, users: users, rights: rights}
}

// A Caller is the user who sent a request.
type Caller struct {
	authenticationv1.UserInfo
	token   digest
	reviews *reviews

	earlier time.Time // of the oldest review that was used since the API server does not answer; zero: none was. Guarded by reviews.mu
}

// Reviewed returns when the API server was asked what the caller may read, if it does not answer now and an earlier answer was used; nil
// otherwise.
func (c *Caller) Reviewed() *time.Time {
	c.reviews.mu.Lock()
	defer c.reviews.mu.Unlock()
	if c.earlier.IsZero() {
		return nil
	}
	at := c.earlier.UTC().Truncate(time.Second)
	return &at
}

// useEarlier notes that an earlier review is used.
func (c *Caller) useEarlier(at time.Time) {
	c.reviews.mu.Lock()
	defer c.reviews.mu.Unlock()
	if c.earlier.IsZero() || at.Before(c.earlier) {
		c.earlier = at
	}
}

// isSilent reports whether a review failed because the API server does not answer: it asks to wait, does not work, or is not reached.
func isSilent(err error) bool {
	var answer apierrors.APIStatus
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || !errors.As(err, &answer) && !errors.Is(err, context.Canceled)
}

// waiting returns a context for a review. If there is an earlier one, it does not wait long.
func waiting(ctx context.Context, known bool, at time.Time) (context.Context, context.CancelFunc) {
	if known && time.Since(at) < silentAge {
		return context.WithTimeout(ctx, silentTime)
	}
	return ctx, func() {}
}

// callerOf returns the user whose token a request has.
func (v *reviews) callerOf(r *http.Request) (*Caller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, problemf(http.StatusUnauthorized, "the request has no bearer token: send the header Authorization: Bearer TOKEN, with a token for the API server, such as that of: kubectl create token SERVICEACCOUNT")
	}
	if len(token) > maxToken {
		return nil, problemf(http.StatusUnauthorized, "the token has more than %d bytes", maxToken)
	}
	hash := digest(sha256.Sum256([]byte(token)))
	known, found := recent(v, v.users, hash)
	if found && time.Since(known.at) < reviewAge {
		return &Caller{UserInfo: known.UserInfo, token: hash, reviews: v}, nil
	}
	ctx, cancel := waiting(r.Context(), found, known.at)
	defer cancel()
	at := time.Now()
	info, err := v.review(ctx, token)
	switch {
	case errors.Is(err, errUnanswered) && found && time.Since(known.at) < silentAge:
		return &Caller{UserInfo: known.UserInfo, token: hash, reviews: v, earlier: known.at}, nil
	case err != nil:
		v.forget(hash, err)
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users.Add(hash, user{*info, at})
	return &Caller{UserInfo: *info, token: hash, reviews: v}, nil
}

// forget drops a token that the API server does not accept any more.
func (v *reviews) forget(token digest, err error) {
	var refused *Problem
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.users.Remove(token)
	}
}

// Audience is the audience of tokens that only servers of this program accept. Whoever gets such a token cannot use it for requests to the
// API server.
const Audience = "inspect.metascript"

// review asks the API server whose token it is: one for Audience, or one for the API server itself, as people have.
func (v *reviews) review(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	for _, audiences := range [][]string{{Audience}, nil} {
		review, err := v.server.Tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}, metav1.CreateOptions{})
		if err != nil {
			return nil, reviewFailed("create tokenreviews.authentication.k8s.io", "find out whose token this is", err)
		}
		// An API server that does not know audiences returns none.
		if review.Status.Authenticated && (audiences == nil || slices.Contains(review.Status.Audiences, Audience)) {
			return &review.Status.User, nil
		}
	}
	return nil, problemf(http.StatusUnauthorized, "the API server does not accept the token: it may have expired, or belong to another cluster")
}

// recent returns what is remembered in one of the caches.
func recent[K comparable, V any](v *reviews, in *simplelru.LRU[K, V], key K) (V, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return in.Get(key)
}

// reviewFailed returns the error that a review could not be created.
func reviewFailed(right, what string, err error) error {
	if apierrors.IsForbidden(err) {
		return problemf(http.StatusInternalServerError, "%s: the server itself may not %s; apply its manifests again: %v", what, right, err)
	}
	failed := fmt.Errorf("%s: %w", what, apiserver.Cause(err))
	if isSilent(err) {
		return fmt.Errorf("%w: %w", errUnanswered, problemf(http.StatusServiceUnavailable, "%v; only what you asked for in the last %s is shown meanwhile", failed, silentAge))
	}
	return failed
}

// errUnanswered is wrapped by the error of a review that failed because the API server does not answer.
var errUnanswered = errors.New("the API server does not answer")

// May returns nil if the caller may do verb to an object, or to all objects of a resource in a namespace if name is "". Otherwise the
// error is a *Problem with the status 403 that names the right, or another error if this could not be found out.
func (c *Caller) May(ctx context.Context, verb string, resource schema.GroupResource, namespace, name string) error {
	allowed, err := c.allowed(ctx, authorizationv1.ResourceAttributes{Verb: verb, Group: resource.Group, Resource: resource.Resource, Namespace: namespace, Name: name})
	if err != nil || allowed {
		return err
	}
	what := resource.String()
	if name != "" {
		what += fmt.Sprintf(" %q", name)
	}
	if namespace != "" {
		what += fmt.Sprintf(" in the namespace %q", namespace)
	}
	return problemf(http.StatusForbidden, "user %q may not %s %s", c.Username, verb, what)
}

// mayRead reports whether the caller may get or list all objects of a resource in a namespace.
func (c *Caller) mayRead(ctx context.Context, resource schema.GroupResource, namespace string) (bool, error) {
	for _, verb := range []string{"list", "get"} {
		allowed, err := c.allowed(ctx, authorizationv1.ResourceAttributes{Verb: verb, Group: resource.Group, Resource: resource.Resource, Namespace: namespace})
		if allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

// allowed returns the remembered answer to a question, or else asks the API server.
func (c *Caller) allowed(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	q := question{c.token, what}
	known, found := recent(c.reviews, c.reviews.rights, q)
	if found && time.Since(known.at) < reviewAge {
		return known.allowed, nil
	}
	ctx, cancel := waiting(ctx, found, known.at)
	defer cancel()
	at := time.Now()
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range c.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := c.reviews.server.Rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: c.Username, UID: c.UID, Groups: c.Groups, Extra: extra, ResourceAttributes: &what,
	}}, metav1.CreateOptions{})
	if err != nil && found && time.Since(known.at) < silentAge && isSilent(err) {
		c.useEarlier(known.at)
		return known.allowed, nil
	}
	if err != nil {
		return false, reviewFailed("create subjectaccessreviews.authorization.k8s.io", "find out what the user may read", err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	c.reviews.mu.Lock()
	defer c.reviews.mu.Unlock()
	c.reviews.rights.Add(q, answer{allowed, at})
	return allowed, nil
}
