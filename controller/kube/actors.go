package kube

import (
	"fmt"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"metascript/controller/account"
	"metascript/controller/wire"
)

// An Actor sends the requests of controllers that act as one account.
type Actor struct {
	*Writer
	Events *Events
	users  int // how often it was opened and not closed yet; guarded by Actors.mu
}

// Actors has the Actor of each account that a controller acts as. It is safe for concurrent use.
type Actors struct {
	config *rest.Config // of the server, with one rate limiter for all accounts together
	server *Actor

	mu        sync.Mutex // guards byAccount, and the users of each
	byAccount map[account.Account]*Actor
}

// NewActors returns Actors that impersonate accounts. config is that of the server, and server sends its own requests.
func NewActors(config *rest.Config, server *Actor) *Actors {
	config = rest.CopyConfig(config)
	if config.QPS > 0 && config.RateLimiter == nil {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, max(config.Burst, 1))
	}
	return &Actors{config: config, server: server, byAccount: map[account.Account]*Actor{}}
}

// Open returns the Actor of an account. The caller must call Close with the account when it does not need it any more.
func (a *Actors) Open(who account.Account) (*Actor, error) {
	if who.IsServer() {
		return a.server, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	actor := a.byAccount[who]
	if actor == nil {
		var err error
		if actor, err = a.impersonate(who); err != nil {
			return nil, fmt.Errorf("act as %s: %w", who, err)
		}
		a.byAccount[who] = actor
	}
	actor.users++
	return actor, nil
}

// impersonate makes the Actor of an account. Its requests share the connections of the server.
func (a *Actors) impersonate(who account.Account) (*Actor, error) {
	config := rest.CopyConfig(a.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: who.User()} // the API server adds the groups
	client, err := wire.NewClient(config)
	if err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	writer := *a.server.Writer
	writer.Client, writer.Account = client, who
	return &Actor{Writer: &writer, Events: a.server.Events.Through(typed)}, nil
}

// Close ends one use of the Actor of an account.
func (a *Actors) Close(who account.Account) {
	if who.IsServer() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	actor := a.byAccount[who]
	if actor.users--; actor.users == 0 {
		delete(a.byAccount, who)
		actor.Events.Shutdown()
	}
}
