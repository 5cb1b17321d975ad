package inspect

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/binding"
	"metascript/controller/claim"
	"metascript/controller/history"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/redact"
	"metascript/controller/tree"
)

// A Tree is the response of GET /v1/tree: a parent with its children, and their children if they are parents too.
type Tree struct {
	Root *tree.Node `json:"root"`
	Off  bool       `json:"historyOff,omitempty"` // the server keeps no history, so that it is not known what the last reconciles did

	APIServer string     `json:"apiServer,omitempty"` // how it answers, if not well
	Reviewed  *time.Time `json:"reviewed,omitempty"`  // when it was asked what the caller may read, if it does not answer now
}

func (h *Handler) serveTree(caller *Caller, w http.ResponseWriter, r *http.Request) error {
	t, err := h.targetOf(caller, r)
	if err != nil {
		return err
	}
	found, err := h.tree(r.Context(), caller, t)
	if err != nil {
		return err
	}
	found.APIServer, found.Reviewed = h.server.APIServer(), caller.Reviewed()
	return respond(w, found)
}

// tree returns the tree of a parent.
func (h *Handler) tree(ctx context.Context, caller *Caller, t *target) (*Tree, error) {
	parent, _ := h.parent(t)
	if parent == nil {
		return nil, h.notFound(ctx, caller, t, nil)
	}
	b := &treeBuilder{
		handler: h, ctx: ctx, sight: sight{h, caller, map[scope]bool{}}, target: t, left: tree.MaxNodes, above: map[types.UID]bool{},
		redactor: redact.New(t.Kind.Kind, t.Namespace, t.Name),
	}
	root := tree.NodeOf(parent)
	root.Object = history.ObjectOf(t.Ref)
	b.grow(root, parent)
	switch {
	case b.failed != nil:
		return nil, b.failed
	case len(root.Controllers) == 0 && t.controller == "":
		return nil, h.notFound(ctx, caller, t, parent)
	case len(root.Controllers) == 0:
		return nil, problemf(http.StatusNotFound, "the controller %s does not have %s", t.controller, describe(t.Ref))
	}
	b.redact(root)
	return &Tree{Root: root, Off: h.history == nil}, nil
}

// A treeBuilder makes the tree of one request.
type treeBuilder struct {
	handler  *Handler
	ctx      context.Context
	sight    sight
	target   *target
	left     int                // how many nodes the tree may still have
	above    map[types.UID]bool // the parents above the node that grows
	redactor *redact.Redactor
	failed   error // why rights could not be found out
}

// grow adds the controllers of a parent to its node, with its children. Those of all controllers come before their children, so that
// the latter are left out first if there are too many.
func (b *treeBuilder) grow(n *tree.Node, parent *object.Object) {
	if err := b.ctx.Err(); err != nil && b.failed == nil {
		b.failed = err
	}
	if b.failed != nil || b.above[parent.GetUID()] || len(b.above) >= tree.MaxDepth {
		return
	}
	b.above[parent.GetUID()] = true
	defer delete(b.above, parent.GetUID())
	for _, r := range b.handler.server.Running() {
		rule := ruleOf(r, parent.GroupVersionKind().GroupKind())
		if rule == nil || len(b.above) == 1 && b.target.controller != "" && r.Binding().Name != b.target.controller {
			continue
		}
		if o := rule.Cache.Get(object.KeyOf(parent)); o != nil && o.GetUID() == parent.GetUID() && r.Binding().Has(o) {
			n.Paused = n.Paused || binding.IsPaused(o)
			n.Controllers = append(n.Controllers, b.controller(r, o))
		}
	}
	slices.SortFunc(n.Controllers, func(a, b *tree.Controller) int { return strings.Compare(a.Name+" "+a.Kind, b.Name+" "+b.Kind) })
	for _, c := range n.Controllers {
		for _, child := range c.Children {
			if o := b.parentOf(child); o != nil {
				b.grow(child, o)
			}
		}
	}
}

// parentOf returns the object of a node if it may be a parent.
func (b *treeBuilder) parentOf(n *tree.Node) *object.Object {
	t := &target{}
	t.Kind, t.Key = n.GroupKind().WithVersion(""), object.Key{Namespace: n.Namespace, Name: n.Name}
	o, selects := b.handler.parent(t)
	if len(selects) == 0 {
		return nil
	}
	return o
}

// controller returns a controller of a parent with its children.
func (b *treeBuilder) controller(r *reconcile.Reconciler, parent *object.Object) *tree.Controller {
	bound := r.Binding()
	c := &tree.Controller{Kind: bound.Kind, Name: bound.Name, Loading: !r.HasSynced()}
	if loaded := r.Current().Loaded; loaded != nil {
		c.Script = history.Digest(loaded.Built.Digest)
	}
	r.AddSecrets(b.redactor, parent)
	b.redactor.SetOrigin(bound)
	b.problem(r, c)
	in := tree.Input{Parent: parent, Hides: b.hides, Writes: b.last(r, parent, c)}
	b.owned(bound, &in)
	if bound.Revisions != nil {
		// The last reconcile has failed with the error too.
		if latest, older, err := bound.Revisions.Stored(parent); err == nil {
			in.Rollout = &tree.Rollout{Latest: latest, Older: older, Kinds: bound.Revisions.Rules.Kinds}
		}
	}
	tree.Children(in, c)
	c.Limit(max(b.left, 0))
	b.left -= len(c.Children)
	return c
}

// owned adds the children of a parent that are in the caches of a controller.
func (b *treeBuilder) owned(bound *binding.Binding, in *tree.Input) {
	if bound.Match != nil {
		in.Selector, _ = bound.Match(in.Parent) // the last reconcile has failed with the error
	}
	for _, kind := range bound.Children {
		for _, o := range kind.Informer.OwnedBy(in.Parent.GetUID()) {
			if o.GetUID() != in.Parent.GetUID() && claim.HasAnnotations(o, bound.ChildAnnotations) {
				in.Owned = append(in.Owned, o)
				b.redactor.AddChildren(o)
			}
		}
		if claimer, adopts := bound.Claimer.(*claim.BySelector); adopts && in.Selector != nil {
			in.Orphans = append(in.Orphans, claimer.Orphans(in.Parent, kind, in.Selector)...)
		}
	}
	b.redactor.AddChildren(in.Orphans...)
}

// hides reports whether the caller may not read an object.
func (b *treeBuilder) hides(o history.Object) bool {
	sees, err := b.sight.sees(b.ctx, o)
	if err != nil && b.failed == nil {
		b.failed = err
	}
	return !sees
}

// problem sets why the controller object is not ready, if the caller may get it.
func (b *treeBuilder) problem(r *reconcile.Reconciler, c *tree.Controller) {
	id := r.Binding().ID
	o := b.handler.server.Object(id)
	if o == nil || b.sight.caller.May(b.ctx, "get", controllers(id.Kind), "", id.Name) != nil {
		return
	}
	if is, why := tree.ReadinessOf(o); is == tree.NotReady {
		c.Problem = strings.Join(why, "; ")
	}
}

// last sets what the last reconcile of a parent says, and returns its writes.
func (b *treeBuilder) last(r *reconcile.Reconciler, parent *object.Object, c *tree.Controller) []history.Write {
	ref := object.RefOf(parent)
	e, found := b.handler.history.Last(r.Binding().ID, ref)
	if !found {
		return nil
	}
	t := &target{}
	t.Ref = ref
	if err := b.sight.hideIn(b.ctx, t, &e); err != nil && b.failed == nil {
		b.failed = err
	}
	c.Last, c.Error, c.Next = &e.Time, e.Error, e.Next
	return e.Writes
}

// redact removes the values of Secrets from all texts of a tree.
func (b *treeBuilder) redact(root *tree.Node) {
	var texts []*string
	root.Texts(func(text *string) {
		if *text != "" {
			texts = append(texts, text)
		}
	})
	plain := make([]string, len(texts))
	for i, text := range texts {
		plain[i] = *text
	}
	for i, text := range b.redactor.Texts(plain) {
		*texts[i] = text
	}
}
