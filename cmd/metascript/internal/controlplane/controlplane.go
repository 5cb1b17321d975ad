// Package controlplane does in a simulated cluster what the components of a control plane do beside the API server: the garbage
// collector deletes dependents, a deleted namespace is emptied, and workloads become ready.
//
// There are no nodes and no controllers of workloads. A Pod does not run; after some time its status says that it does. A Deployment
// has no ReplicaSets and no Pods; its status says that all replicas are ready. [Rule] changes that.
package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/memapi"
	"metascript/controller/object"
)

// UserAgent is the user agent of the requests of a control plane.
const UserAgent = "kube-controller-manager"

// A ControlPlane reacts to the changes of objects in a memapi.Server. It is safe for concurrent use.
type ControlPlane struct {
	*requests
	collector collector

	mu      sync.Mutex // guards the fields below
	changes []memapi.Change
	wake    chan struct{} // has an element if there are changes
	rules   []Rule
	fixed   map[types.UID]bool // the objects whose status does not follow the rules any more
	planned map[types.UID]bool // the objects whose status is set later
	working bool
}

// New returns a ControlPlane that does nothing before Run. The caller passes the changes of the API to Changed.
func New(api *memapi.Server, config *rest.Config, rules []Rule) (*ControlPlane, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = UserAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	r := &requests{api: api, client: client}
	return &ControlPlane{
		requests: r, collector: collector{r}, rules: rules, wake: make(chan struct{}, 1), fixed: map[types.UID]bool{}, planned: map[types.UID]bool{},
	}, nil
}

// Changed adds a change, to which Run reacts.
func (p *ControlPlane) Changed(c memapi.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = append(p.changes, c)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Busy reports whether there is something that the ControlPlane is going to do.
func (p *ControlPlane) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.changes) > 0 || len(p.planned) > 0 || p.working
}

// Run reacts to changes until ctx is done.
func (p *ControlPlane) Run(ctx context.Context) {
	var planned sync.WaitGroup
	defer planned.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		for c, ok := p.next(); ok; c, ok = p.next() {
			p.collector.collect(ctx, c)
			p.plan(ctx, c.After, &planned)
		}
	}
}

// next returns the next change.
func (p *ControlPlane) next() (memapi.Change, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working = len(p.changes) > 0
	if !p.working {
		return memapi.Change{}, false
	}
	c := p.changes[0]
	p.changes = p.changes[1:]
	return c, true
}

// plan sets the status of an object after the time in its rule.
func (p *ControlPlane) plan(ctx context.Context, o *object.Object, planned *sync.WaitGroup) {
	if o == nil || object.Deleting(o) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rule := p.ruleFor(o)
	if rule == nil || p.fixed[o.GetUID()] || p.planned[o.GetUID()] || rule.statusOf(o) == nil {
		return
	}
	p.planned[o.GetUID()] = true
	planned.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(rule.After.Duration):
			p.settle(ctx, o)
		}
	})
}

// settle sets the status of an object as its rule says, unless the object was changed, deleted or fixed meanwhile.
func (p *ControlPlane) settle(ctx context.Context, planned *object.Object) {
	resource, _, ok := p.api.Resource(planned.GroupVersionKind())
	o := p.api.Get(resource.GroupResource(), object.KeyOf(planned))
	p.mu.Lock()
	delete(p.planned, planned.GetUID())
	rule, fixed := p.ruleFor(planned), p.fixed[planned.GetUID()]
	p.mu.Unlock()
	if !ok || o == nil || o.GetUID() != planned.GetUID() || rule == nil || fixed {
		return
	}
	if status := rule.statusOf(o); status != nil {
		p.write(ctx, o, status)
	}
}

// SetStatus sets the status of an object, which does not follow the rules from now on.
func (p *ControlPlane) SetStatus(ctx context.Context, o *object.Object, status map[string]any) error {
	p.mu.Lock()
	p.fixed[o.GetUID()] = true
	p.mu.Unlock()
	return p.setStatus(ctx, o, status)
}

// Fail sets a status that says that an object has failed.
func (p *ControlPlane) Fail(ctx context.Context, o *object.Object) error {
	status := failed(o)
	if status == nil {
		return fmt.Errorf("%s: a simulation does not know the status of a failed %s: set it with the action status", object.Describe(o), o.GetKind())
	}
	return p.SetStatus(ctx, o, status)
}

// Ready sets the status with which an object is ready.
func (p *ControlPlane) Ready(ctx context.Context, o *object.Object) error {
	status := ready(o)
	if status == nil {
		return fmt.Errorf("%s: a simulation does not know the status of a ready %s: set it with the action status", object.Describe(o), o.GetKind())
	}
	return p.SetStatus(ctx, o, status)
}
