package inspect

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/binding"
	"metascript/controller/history"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/redact"
	"metascript/controller/selection"
	"metascript/controller/spec"
	"metascript/controller/tree"
	"metascript/engine"
)

// A Why is the response of GET /v1/why: what the last reconciles of a parent did.
type Why struct {
	Parent      history.Object `json:"parent"`
	Exists      bool           `json:"exists"`           // in the cache of the server
	Off         bool           `json:"off,omitempty"`    // the server keeps no history
	State       *State         `json:"state,omitempty"`  // of the parent, if it exists
	Controllers []Controller   `json:"controllers"`      // those that have the parent, and those that had it
	Budget      int            `json:"budget,omitempty"` // how many entries are kept of a parent at most

	APIServer string     `json:"apiServer,omitempty"` // how it answers, if not well
	Reviewed  *time.Time `json:"reviewed,omitempty"`  // when it was asked what the caller may read, if it does not answer now
}

// A State is what there is to know of a parent now.
type State struct {
	Paused     bool             `json:"paused,omitempty"` // by its annotation
	Deleting   bool             `json:"deleting,omitempty"`
	Finalizers []string         `json:"finalizers,omitempty"` // if it is being deleted
	Conditions []tree.Condition `json:"conditions,omitempty"`
}

// A Controller is a controller, and the entries of a parent.
type Controller struct {
	Kind    string          `json:"kind"`
	Name    string          `json:"name"`
	Runs    bool            `json:"runs"`
	Has     bool            `json:"has"`              // the parent
	Script  string          `json:"script,omitempty"` // the beginning of the digest of the scripts that run
	Entries []history.Entry `json:"entries"`          // the oldest first
}

// target is the object that a request is about.
type target struct {
	object.Ref
	resource   schema.GroupResource
	controller string // "" is all
}

// targetOf reads the parameters of a request: apiVersion, kind, namespace, name and controller. It returns an error if the caller may
// not get the object.
func (h *Handler) targetOf(caller *Caller, r *http.Request) (*target, error) {
	values := r.URL.Query()
	version, err := schema.ParseGroupVersion(values.Get("apiVersion"))
	if err != nil {
		return nil, problemf(http.StatusBadRequest, "the parameter apiVersion is %q, want one such as apps/v1", values.Get("apiVersion"))
	}
	t := &target{controller: values.Get("controller")}
	t.Kind, t.Key = version.WithKind(values.Get("kind")), object.Key{Namespace: values.Get("namespace"), Name: values.Get("name")}
	if version.Version == "" || t.Kind.Kind == "" || t.Name == "" {
		return nil, problemf(http.StatusBadRequest, "the request needs the parameters apiVersion, kind and name, and namespace if the object has one")
	}
	resource, err := h.resource(t.Kind)
	if err != nil {
		return nil, err
	}
	if resource.Namespaced && t.Namespace == "" {
		return nil, problemf(http.StatusBadRequest, "the request needs the parameter namespace, since %s are in namespaces", resource.Resource)
	}
	if !resource.Namespaced {
		t.Namespace = ""
	}
	t.resource = resource.GroupVersionResource.GroupResource()
	return t, caller.May(r.Context(), "get", t.resource, t.Namespace, t.Name)
}

// resource returns the resource of a kind, as controllers or the API server know it. The version may be another one.
func (h *Handler) resource(kind object.Kind) (kube.Resource, error) {
	for _, r := range h.server.Running() {
		if rule := ruleOf(r, kind.GroupKind()); rule != nil {
			return rule.Resource, nil
		}
	}
	resource, err := h.server.Resources.ByKind(kind)
	if err != nil {
		return resource, problemf(http.StatusNotFound, "%v", err)
	}
	return resource, nil
}

// ruleOf returns the rule of a controller for parents of a kind, whichever its version is; nil if there is none.
func ruleOf(r *reconcile.Reconciler, kind schema.GroupKind) *binding.ParentResource {
	parents := r.Binding().Parents
	i := slices.IndexFunc(parents, func(rule *binding.ParentResource) bool { return rule.ObjectKind().GroupKind() == kind })
	if i < 0 {
		return nil
	}
	return parents[i]
}

func (h *Handler) serveWhy(caller *Caller, w http.ResponseWriter, r *http.Request) error {
	t, err := h.targetOf(caller, r)
	if err != nil {
		return err
	}
	why, err := h.why(r.Context(), caller, t)
	if err != nil {
		return err
	}
	why.APIServer, why.Reviewed = h.server.APIServer(), caller.Reviewed()
	return respond(w, why)
}

// why returns what is known of a parent.
func (h *Handler) why(ctx context.Context, caller *Caller, t *target) (*Why, error) {
	why := &Why{Parent: history.ObjectOf(t.Ref), Off: h.history == nil, Budget: history.PerParent}
	entries := h.history.Of(t.Kind.GroupKind(), t.Key)
	parent, selects := h.parent(t)
	redactor := redact.New(t.Kind.Kind, t.Namespace, t.Name)
	for _, r := range h.server.Running() {
		b := r.Binding()
		if selects[b.ID] {
			r.AddSecrets(redactor, parent)
		}
		if _, known := entries[b.ID]; known || selects[b.ID] {
			c := Controller{Kind: b.Kind, Name: b.Name, Runs: true, Has: selects[b.ID], Entries: entries[b.ID]}
			if loaded := r.Current().Loaded; loaded != nil {
				c.Script = history.Digest(loaded.Built.Digest)
			}
			why.Controllers = append(why.Controllers, c)
			delete(entries, b.ID)
		}
	}
	if why.Exists = parent != nil; why.Exists {
		why.State = stateOf(parent)
		why.State.redact(redactor)
	}
	for id, rest := range entries {
		why.Controllers = append(why.Controllers, Controller{Kind: id.Kind, Name: id.Name, Entries: rest})
	}
	if len(why.Controllers) == 0 {
		return nil, h.notFound(ctx, caller, t, parent)
	}
	if t.controller != "" {
		had := namesOf(why.Controllers)
		why.Controllers = slices.DeleteFunc(why.Controllers, func(c Controller) bool { return c.Name != t.controller })
		if len(why.Controllers) == 0 {
			return nil, problemf(http.StatusNotFound, "the controller %s does not have %s: want %s", t.controller, describe(t.Ref), strings.Join(had, " or "))
		}
	}
	slices.SortFunc(why.Controllers, func(a, b Controller) int { return strings.Compare(a.Name+" "+a.Kind, b.Name+" "+b.Kind) })
	if err := h.hide(ctx, caller, t, why); err != nil {
		return nil, err
	}
	for _, c := range why.Controllers {
		for i := range c.Entries {
			c.Entries[i].Withhold()
		}
	}
	return why, nil
}

func namesOf(controllers []Controller) []string {
	names := map[string]bool{}
	for _, c := range controllers {
		names[c.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func describe(ref object.Ref) string { return ref.Kind.Kind + " " + ref.Key.String() }

// parent returns an object from the caches of parents, or nil, and the controllers that have it as a parent.
func (h *Handler) parent(t *target) (parent *object.Object, selects map[spec.ID]bool) {
	selects = map[spec.ID]bool{}
	for _, r := range h.server.Running() {
		rule := ruleOf(r, t.Kind.GroupKind())
		if rule == nil {
			continue
		}
		o := rule.Cache.Get(t.Key)
		if o == nil {
			continue
		}
		parent = o
		if r.Binding().Has(o) {
			selects[r.Binding().ID] = true
		}
	}
	return parent, selects
}

// notFound returns the error that no controller has an object.
func (h *Handler) notFound(ctx context.Context, caller *Caller, t *target, found *object.Object) error {
	var rules []string
	candidates := h.history.Names(t.Kind.GroupKind(), t.Namespace)
	for _, r := range h.server.Running() {
		if rule := ruleOf(r, t.Kind.GroupKind()); rule != nil {
			rules = append(rules, r.Binding().Name)
			for _, o := range rule.Cache.Select(selection.Query{Namespace: t.Namespace, Labels: everything}) {
				candidates = append(candidates, strings.Clone(o.GetName()))
			}
		}
	}
	switch {
	case found != nil:
		return problemf(http.StatusNotFound, "%s is no parent of a controller: those of its kind (%s) do not select it", describe(t.Ref), strings.Join(rules, ", "))
	case len(rules) == 0 && len(candidates) == 0:
		return problemf(http.StatusNotFound, "no controller that runs has parents of the kind %s; is %s a child? Then name its owner", t.Kind.GroupKind(), describe(t.Ref))
	}
	hint := ""
	if may, err := caller.mayRead(ctx, t.resource, t.Namespace); err == nil && may {
		if near := engine.Nearest(t.Name, candidates); near != "" {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
	}
	return problemf(http.StatusNotFound, "there is no %s, and it has no history%s", describe(t.Ref), hint)
}

// stateOf returns the State of a parent.
func stateOf(parent *object.Object) *State {
	conditions := tree.ConditionsOf(parent)
	s := &State{
		Paused: binding.IsPaused(parent), Deleting: object.Deleting(parent), Conditions: conditions[:min(len(conditions), maxConditions)],
	}
	if s.Deleting {
		s.Finalizers = parent.GetFinalizers()
	}
	return s
}

// redact removes the values of Secrets from the texts of a State.
func (s *State) redact(r *redact.Redactor) {
	var texts []string
	for _, c := range s.Conditions {
		texts = append(texts, c.Type, c.Status, c.Reason, c.Message)
	}
	texts = r.Texts(texts)
	for i := range s.Conditions {
		of := texts[4*i:]
		s.Conditions[i] = tree.Condition{Type: of[0], Status: of[1], Reason: of[2], Message: of[3]}
	}
}

// maxConditions is how many conditions of an object are shown.
const maxConditions = 20
