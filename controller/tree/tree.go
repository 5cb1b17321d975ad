// Package tree computes the ownership tree of a parent, from objects in caches and without a request: which children it has and lacks,
// which of them are ready, and what each waits for.
//
// [Children] returns the nodes of the children of one parent of one controller. [ReadinessOf] says whether an object is ready, by the
// conventions of Kubernetes for the status of an object. [Rollout] says which child waits for which in a rolling update; it uses what the
// last reconcile has stored, and calls no hook.
package tree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/history"
	"metascript/controller/object"
	"metascript/controller/rollout"
)

// Limits of a tree.
const (
	MaxNodes    = 1000 // of a tree
	MaxChildren = 200  // of one parent of one controller
	MaxDepth    = 10   // levels of parents
	maxText     = 300  // bytes of one text
	maxReasons  = 4    // why an object is not ready
)

// A Node is an object in a tree.
type Node struct {
	history.Object
	Created    *time.Time `json:"creationTimestamp,omitempty"`
	Ready      Readiness  `json:"ready,omitempty"`
	Reasons    []string   `json:"reasons,omitempty"` // why it is not ready
	Absent     bool       `json:"absent,omitempty"`  // it is wanted, and does not exist
	Deleted    *time.Time `json:"deletionTimestamp,omitempty"`
	Finalizers []string   `json:"finalizers,omitempty"` // of an object that is being deleted
	Revision   *Revision  `json:"revision,omitempty"`   // of a child of a kind that rolls
	Waits      *Wait      `json:"waits,omitempty"`
	Problems   []string   `json:"problems,omitempty"` // of its owner, and of the last write

	Paused      bool          `json:"paused,omitempty"`      // a parent, by its annotation
	Controllers []*Controller `json:"controllers,omitempty"` // those that have it as a parent
}

// A Revision is the revision of a parent that a child has.
type Revision struct {
	Name   string `json:"name,omitempty"` // of the ControllerRevision; "" if it is not known
	Latest bool   `json:"latest"`
}

// A Wait says why a child does not move to the latest revision yet.
type Wait struct {
	For *history.Object `json:"for,omitempty"` // the child that has to be ready before; nil for another reason
	Why string          `json:"why"`
}

// A Controller is a controller of a parent, with the children that the parent has because of it.
type Controller struct {
	Kind     string        `json:"kind"`
	Name     string        `json:"name"`
	Script   string        `json:"script,omitempty"`        // the beginning of the digest of the scripts that run
	Loading  bool          `json:"loading,omitempty"`       // it fills its caches: children may be missing here
	Problem  string        `json:"problem,omitempty"`       // why the controller object is not ready, such as a newer version that its guard holds
	Last     *time.Time    `json:"lastReconcile,omitempty"` // that was done; nil if none is known
	Error    string        `json:"error,omitempty"`         // of the last reconcile
	Next     *history.Next `json:"next,omitempty"`          // what the parent waits for
	Rollout  *Progress     `json:"rollout,omitempty"`       // of kinds of children that roll
	Children []*Node       `json:"children,omitempty"`      // sorted by kind and name
	More     int           `json:"more,omitempty"`          // children that are not in Children, since there are too many
	NotReady int           `json:"moreNotReady,omitempty"`  // of More
	Hidden   []Hidden      `json:"mayNotRead,omitempty"`    // children that are not in Children, since the user may not read them
}

// Hidden is how many children of a kind the user may not read.
type Hidden struct {
	Kind  string `json:"kind"` // with its group
	Count int    `json:"count"`
}

// Progress is how far a rollout is.
type Progress struct {
	Latest  string `json:"latest"` // the name of the ControllerRevision
	Updated int    `json:"updated"`
	Total   int    `json:"total"`
	Message string `json:"message,omitempty"` // of the condition Updated, if not all are updated
}

// An Input is what is known of the children of one parent of one controller.
type Input struct {
	Parent   *object.Object
	Owned    []*object.Object // the objects whose controller is the parent
	Orphans  []*object.Object // those that it will adopt
	Selector labels.Selector  // of its children; nil selects all
	Rollout  *Rollout         // nil: no kind of children rolls
	Writes   []history.Write  // of the last reconcile

	// Hides reports whether the user may not read an object.
	Hides func(history.Object) bool
}

// Children sets the fields of c about children: each child, and each that is wanted and does not exist.
func Children(in Input, c *Controller) {
	all, hidden := in.nodes(), map[string]int{}
	all = slices.DeleteFunc(all, func(n *Node) bool {
		hides := in.Hides(n.Object)
		if hides {
			hidden[KindText(n.Object)]++
		}
		return hides
	})
	for _, kind := range slices.Sorted(maps.Keys(hidden)) {
		c.Hidden = append(c.Hidden, Hidden{kind, hidden[kind]})
	}
	if in.Rollout != nil {
		c.Rollout = in.Rollout.progress(in.Parent)
	}
	c.Children = all
	c.Limit(MaxChildren)
}

// Limit leaves at most n children. Those with something to say stay first.
func (c *Controller) Limit(n int) {
	slices.SortStableFunc(c.Children, func(a, b *Node) int { return cmp.Or(b.urgency()-a.urgency(), compare(a, b)) })
	if len(c.Children) > n {
		for _, left := range c.Children[n:] {
			c.More++
			if left.Ready == NotReady {
				c.NotReady++
			}
		}
		c.Children = slices.Clip(c.Children[:n])
	}
	slices.SortFunc(c.Children, compare)
}

// urgency orders what is left out if there are too many children.
func (n *Node) urgency() int {
	switch {
	case n.Absent || len(n.Problems) > 0 || n.Ready == NotReady:
		return 2
	case n.Waits != nil || n.Deleted != nil:
		return 1
	}
	return 0
}

func compare(a, b *Node) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// KindText returns the name of a kind with its group, such as "Pod" and "Deployment.apps".
func KindText(o history.Object) string {
	return o.GroupKind().String()
}

// place identifies a child, whichever version its kind has.
type place struct {
	schema.GroupKind
	object.Key
}

func placeOf(o history.Object) place {
	return place{o.GroupKind(), object.Key{Namespace: o.Namespace, Name: o.Name}}
}

// nodes returns all nodes, in no order.
func (in *Input) nodes() []*Node {
	var all []*Node
	at, seen := map[place]*Node{}, map[types.UID]bool{}
	add := func(n *Node) {
		all = append(all, n)
		at[placeOf(n.Object)] = n
	}
	for _, o := range in.Owned {
		if !seen[o.GetUID()] {
			seen[o.GetUID()] = true
			add(in.owned(o))
		}
	}
	for _, o := range in.Orphans {
		if !seen[o.GetUID()] {
			seen[o.GetUID()] = true
			n := NodeOf(o)
			n.Problems = append(n.Problems, "it has no controller, and the selector matches it: the next reconcile adopts it")
			add(n)
		}
	}
	if in.Rollout != nil {
		for _, c := range in.Rollout.wanted() {
			o := history.Object{APIVersion: c.apiVersion, Kind: c.Kind, Namespace: in.Parent.GetNamespace(), Name: c.Name}
			if at[placeOf(o)] == nil {
				n := &Node{Object: o, Absent: true, Ready: NotReady}
				n.Revision, _ = in.Rollout.revisionOf(c.Child)
				add(n)
			}
		}
		in.Rollout.wait(in, at)
	}
	for _, w := range in.Writes {
		in.failed(w, at, add)
	}
	return all
}

// owned returns the node of an object whose controller is the parent.
func (in *Input) owned(o *object.Object) *Node {
	n := NodeOf(o)
	switch {
	case in.Parent.GetNamespace() != "" && o.GetNamespace() != in.Parent.GetNamespace():
		n.Problems = append(n.Problems, "it is in another namespace than its owner: the garbage collector deletes it")
	case in.Selector != nil && !object.Deleting(in.Parent) && !in.Selector.Matches(object.LabelsOf(o)):
		n.Problems = append(n.Problems, "the selector of its owner does not match its labels: the next reconcile releases it")
	}
	if in.Rollout != nil {
		in.Rollout.describe(n, o)
	}
	return n
}

// failed notes a write of the last reconcile that failed.
func (in *Input) failed(w history.Write, at map[place]*Node, add func(*Node)) {
	if w.Error == "" || w.Object == history.ObjectOf(object.RefOf(in.Parent)) {
		return
	}
	n := at[placeOf(w.Object)]
	if n == nil && w.Verb != "create" && w.Verb != "apply" {
		return // it is gone
	}
	if n == nil {
		n = &Node{Object: w.Object, Absent: true, Ready: NotReady}
		add(n)
		if w.Shown != nil {
			n.Name = w.Shown.Name
		}
	}
	n.Problems = append(n.Problems, clip(fmt.Sprintf("the last %s failed: %s", w.Verb, w.Error)))
}

// NodeOf returns the node of an object.
func NodeOf(o *object.Object) *Node {
	n := &Node{Object: history.ObjectOf(object.RefOf(o).Clone())}
	if created := o.GetCreationTimestamp(); !created.IsZero() {
		n.Created = &created.Time
	}
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		n.Deleted = &deleted.Time
		for _, finalizer := range o.GetFinalizers() {
			n.Finalizers = append(n.Finalizers, strings.Clone(finalizer))
		}
	}
	n.Ready, n.Reasons = ReadinessOf(o)
	return n
}

// Texts calls visit with each text of the tree below n that is made of the content of objects, also with their names.
func (n *Node) Texts(visit func(*string)) {
	visit(&n.Namespace)
	visit(&n.Name)
	for _, texts := range [][]string{n.Reasons, n.Problems} {
		for i := range texts {
			visit(&texts[i])
		}
	}
	if n.Waits != nil {
		visit(&n.Waits.Why)
		if n.Waits.For != nil {
			visit(&n.Waits.For.Namespace)
			visit(&n.Waits.For.Name)
		}
	}
	for _, c := range n.Controllers {
		visit(&c.Error)
		visit(&c.Problem)
		if c.Rollout != nil {
			visit(&c.Rollout.Message)
		}
		for _, child := range c.Children {
			child.Texts(visit)
		}
	}
}

// clip returns a copy of a text that is not too long, so that it does not keep an object in memory.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// revisionName returns a copy of the name of a ControllerRevision.
func revisionName(r rollout.Revision) string { return strings.Clone(r.Name) }
