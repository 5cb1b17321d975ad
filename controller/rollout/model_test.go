package rollout

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A store is what the API server keeps of one resource: every state that there was, oldest first, so that a cache may
// be at any of them.
type store struct {
	states []map[string]*object.Object
	writes int
}

func (s *store) now() map[string]*object.Object {
	if len(s.states) == 0 {
		s.states = []map[string]*object.Object{{}}
	}
	return s.states[len(s.states)-1]
}

// put makes a new state in which name is o, or is not there when o is nil.
func (s *store) put(name string, o *object.Object) {
	next := maps.Clone(s.now())
	if delete(next, name); o != nil {
		s.writes++
		o.SetResourceVersion(fmt.Sprint(s.writes))
		next[name] = o
	}
	s.states = append(s.states, next)
}

var errRefused = errors.New("refused")

// do is what the API server does with an operation.
func (s *store) do(op plan.Op) error {
	have, o := s.now()[op.Object.GetName()], object.Copy(op.Object)
	switch {
	case op.Verb == plan.Create && have == nil:
		o.SetUID(types.UID(fmt.Sprint("uid-", s.writes)))
		o.SetGeneration(1)
	case op.Verb == plan.Create, have == nil, have.GetResourceVersion() != o.GetResourceVersion():
		return errRefused
	case op.Verb == plan.Update:
		o.SetGeneration(have.GetGeneration() + 1)
	case op.Verb == plan.Delete && have.GetKind() == pods.Kind:
		now := metav1.Now() // the kubelet takes its time
		o.SetDeletionTimestamp(&now)
	case op.Verb == plan.Delete:
		o = nil
	}
	s.put(op.Object.GetName(), o)
	return nil
}

// A cache shows a state of a store, which may be an old one, and never goes back.
type cache struct {
	*store
	at int
}

func (c *cache) catchUp(g *rand.Rand) {
	c.now()
	if behind := len(c.states) - 1 - c.at; behind > 0 {
		c.at += g.IntN(behind + 1)
	}
}

func (c *cache) fresh() { c.now(); c.at = len(c.states) - 1 }

func (c *cache) list() []*object.Object {
	c.now()
	state := c.states[c.at]
	var all []*object.Object
	for _, name := range slices.Sorted(maps.Keys(state)) {
		all = append(all, state[name])
	}
	return all
}

// A model is a parent, its author, its children and their kubelet, and the controller.
type model struct {
	t *testing.T
	*rand.Rand
	seed                       uint64
	parents, revisions, pods   cache
	script                     int
	scripts                    bool // edits of the script roll out
	rules                      Rules
	methods                    plan.Rules
	budget                     int // of writes, after which the controller is killed
	last                       Condition
	moves                      []string // of the last sync
	syncs, moved, waited, died int
	history                    []string
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, Rand: rand.New(rand.NewPCG(seed, 4)), seed: seed}
	m.parents.store, m.revisions.store, m.pods.store = &store{}, &store{}, &store{}
	rule, method := ready, plan.RollingRecreate
	if m.IntN(2) == 0 {
		rule.InPlace, method = true, plan.RollingInPlace
	}
	m.scripts = m.IntN(3) == 0
	m.rules, m.methods = Rules{Kinds: map[object.Kind]Rule{pods: rule}}, plan.Rules{pods: method}
	parent := child("Set/web", "v0")
	parent.SetUID("u-1")
	m.setParent(parent, 1+m.IntN(5))
	m.parents.fresh()
	return m
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("seed %d: %s\n%s", m.seed, fmt.Sprintf(format, args...), strings.Join(m.history, "\n"))
}

func (m *model) note(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

func (m *model) setParent(o *object.Object, replicas int) {
	o.Map()["spec"].(map[string]any)["replicas"] = int64(replicas)
	m.parents.put("web", o)
}

// hook answers with as many children as the parent wants. Their order is not that of their names. It may leave out one
// for a reason that is no revisioned field.
func (m *model) hook(parent *object.Object, script string) *object.Set {
	spec, set := parent.Map()["spec"].(map[string]any), &object.Set{}
	set.Declare(pods)
	for i := spec["replicas"].(int64) - 1; i >= 0; i-- {
		if name := fmt.Sprint("p", i); parent.GetAnnotations()["without"] != fmt.Sprint(name, " of ", spec["image"]) {
			set.Put(child(name, fmt.Sprintf("%v/%s", spec["image"], script)))
		}
	}
	return set
}

// digest is what a revision knows of the script.
func (m *model) digest() string {
	if m.scripts {
		return fmt.Sprint("s", m.script)
	}
	return ""
}

// answer asks the script that belongs to a revision.
func (m *model) answer(parent *object.Object, r Revision) *object.Set {
	then, err := Apply(parent, r.Patch, DefaultPaths)
	if err != nil {
		m.fail("%v", err)
	}
	if script := r.Script; m.scripts {
		return m.hook(then, script)
	}
	return m.hook(then, fmt.Sprint("s", m.script))
}

// A view is what one sync saw.
type view struct {
	parent   *object.Object
	latest   Revision
	older    []Revision
	observed *object.Set
}

func (m *model) look() view {
	v := view{parent: m.parents.list()[0], observed: &object.Set{}}
	v.observed.Declare(pods)
	for _, o := range m.pods.list() {
		v.observed.Put(o)
	}
	patch, err := Patch(v.parent, DefaultPaths)
	if err != nil {
		m.fail("%v", err)
	}
	name, err := Name(schema.GroupResource{Group: "example.com", Resource: "sets"}, "u-1", patch, m.digest())
	if err != nil {
		m.fail("%v", err)
	}
	var held []Revision
	for _, o := range m.revisions.list() {
		r, err := Decode(o)
		if err != nil {
			m.fail("%v", err)
		}
		held = append(held, r)
	}
	v.latest, v.older, err = Arrange(Revision{Name: name, Patch: patch, Script: m.digest()}, held)
	if err != nil {
		m.fail("%v", err)
	}
	v.latest.Desired = m.answer(v.parent, v.latest)
	if want := list(m.hook(v.parent, fmt.Sprint("s", m.script))); list(v.latest.Desired) != want {
		m.fail("the latest revision wants %s, and the hook of now %s", list(v.latest.Desired), want)
	}
	for i := range v.older {
		v.older[i].Desired = m.answer(v.parent, v.older[i])
	}
	return v
}

// do carries out an operation, unless the controller was killed.
func (m *model) do(s *store, op plan.Op) error {
	if m.budget == 0 {
		m.died++
		return errRefused
	}
	m.budget--
	err := s.do(op)
	m.note("    %s %v", op, err)
	return err
}

// sync is one reconcile. It reports whether it wrote something.
func (m *model) sync() bool {
	m.syncs++
	v := m.look()
	step := Next(v.latest, v.older, v.observed, m.rules)
	m.note("  sync sees %s: %s, at %s, says %s: %s", list(v.latest.Desired), list(v.observed), memberships(step), step.Condition.Reason, step.Condition.Message)
	m.last = step.Condition
	m.checkCondition(v, step)
	m.checkMoves(v, step)
	blank := object.New(map[string]any{"kind": "ControllerRevision", "metadata": map[string]any{}})
	writes := step.Writes(blank)
	for _, op := range writes {
		before := m.claims()
		if m.do(m.revisions.store, op) != nil {
			return true
		}
		m.checkClaims(v, before)
	}
	planned, err := plan.Children(step.Observed, step.Desired, plan.Policy{Rules: m.methods})
	if err != nil {
		m.fail("%v", err)
	}
	m.checkPlan(v, planned.Ops)
	for _, op := range planned.Ops {
		_ = m.do(m.pods.store, op)
	}
	return len(writes)+len(planned.Ops) > 0
}

// claims are the children that have a revision, as it is stored.
func (m *model) claims() Children {
	all := Children{}
	for _, o := range m.revisions.now() {
		r, err := Decode(o)
		if err != nil {
			m.fail("%v", err)
		}
		maps.Copy(all, r.Children)
	}
	return all
}

// checkClaims: a child that has a revision never is without, as long as the latest wants it.
func (m *model) checkClaims(v view, before Children) {
	after := m.claims()
	for c := range before {
		if !after[c] && get(v.latest.Desired, c.Name) != nil {
			m.fail("%s is without a revision", c)
		}
	}
}

// claimants gives, as this sync saw it, the revisions that a child may be at: the latest alone, or the older ones that
// claim and want it. More than one is what an interrupted sync leaves.
func (v *view) claimants(name string) []Revision {
	c := Child{pods.GroupKind(), name}
	claims := func(r Revision) bool { return r.Children[c] && get(r.Desired, name) != nil }
	if claims(v.latest) {
		return []Revision{v.latest}
	}
	return slices.DeleteFunc(slices.Clone(v.older), func(r Revision) bool { return !claims(r) })
}

// isNew reports whether a child is at no revision, and not there either.
func (v *view) isNew(name string) bool {
	have := get(v.observed, name)
	return len(v.claimants(name)) == 0 && (have == nil || object.Deleting(have))
}

// own is a child as the revision that it is at wants it, or nil. Of several it is at the one that it is like, and
// else that cannot be told.
func (v *view) own(name string) *object.Object {
	at := v.claimants(name)
	for _, r := range at {
		if want := get(r.Desired, name); len(at) == 1 || like(get(v.observed, name), want) {
			return want
		}
	}
	return nil
}

func get(set *object.Set, name string) *object.Object {
	return set.Get(pods, object.Key{Namespace: "default", Name: name})
}

// like reports whether a child that is there, and stays, is as want.
func like(have, want *object.Object) bool {
	return have != nil && want != nil && !object.Deleting(have) && named(have) == named(want)
}

func isReady(o *object.Object) bool {
	return conditionOf(o, "Ready")["status"] == "True"
}

// well is what the gate asks for, in other words: everything at the latest revision is there, up to date and ready,
// and so is everything that looks as if it were.
func (m *model) well(v view) bool {
	for want := range v.latest.Desired.All() {
		name := want.GetName()
		have := get(v.observed, name)
		if like(have, want) && isReady(have) && !(m.rules.Kinds[pods].InPlace && Unobserved(have) != "") {
			continue
		}
		if like(have, want) || v.latest.Children[ChildOf(want)] || v.isNew(name) {
			return false
		}
	}
	return true
}

// checkMoves: at most one child that exists moves, only when all at the latest are well, and what moves was next.
func (m *model) checkMoves(v view, step Step) {
	var moved []string
	waits := ""
	for want := range v.latest.Desired.Added() {
		name := want.GetName()
		c, have := ChildOf(want), get(v.observed, name)
		if !step.Latest.Children[c] {
			waits = name
		}
		if v.latest.Children[c] || like(have, want) || !step.Latest.Children[c] || v.isNew(name) {
			continue
		}
		if moved = append(moved, name); waits != "" {
			m.fail("%s moved, and %s comes before it", name, waits)
		}
	}
	m.moved += len(moved)
	m.moves = moved
	if len(moved) > 1 {
		m.fail("%v moved in one sync", moved)
	}
	if len(moved) > 0 && !m.well(v) {
		m.fail("%v moved while the gate was closed", moved)
	}
}

// checkPlan: what is as its own revision wants it is not touched, except for the one that moves; what is missing is
// created, at its own revision unless it moves; nothing that is wanted is deleted for good.
func (m *model) checkPlan(v view, ops []plan.Op) {
	written := map[string]bool{}
	for _, op := range ops {
		name := op.Object.GetName()
		written[name] = true
		own, want := v.own(name), get(v.latest.Desired, name)
		if op.Verb != plan.Create && want != nil && like(get(v.observed, name), own) && !slices.Contains(m.moves, name) {
			m.fail("%s is as its own revision wants it, and written: %s", name, op)
		}
		if op.Verb == plan.Create && own != nil && !like(op.Object, own) && !slices.Contains(m.moves, name) {
			m.fail("%s came back as %s, its revision wants %s", name, named(op.Object), named(own))
		}
		if op.Verb == plan.Delete && want != nil && op.Differs == nil {
			m.fail("%s is wanted, and deleted: %s", name, op)
		}
	}
	for want := range v.latest.Desired.All() {
		if !written[want.GetName()] && get(v.observed, want.GetName()) == nil {
			m.fail("%s is missing, and not created", want.GetName())
		}
	}
}

// checkCondition: the reason is true.
func (m *model) checkCondition(v view, step Step) {
	kind, name, _ := strings.Cut(step.Condition.Message, " ")
	name, what, _ := strings.Cut(name, " ")
	have := get(v.observed, name)
	switch step.Condition.Reason {
	case Waiting:
		m.waited++
		ok := kind == "Pod" && step.Latest.Children[Child{pods.GroupKind(), name}]
		switch {
		case strings.HasPrefix(what, "does not exist"):
			ok = ok && have == nil
		case strings.HasPrefix(what, "is still being deleted"):
			ok = ok && object.Deleting(have)
		case strings.HasPrefix(what, "is not updated"):
			ok = ok && !like(have, get(v.latest.Desired, name))
		case strings.HasPrefix(what, "has condition"), strings.HasPrefix(what, "has no condition"):
			ok = ok && !isReady(have)
		case strings.HasPrefix(what, "has not observed its update"):
			ok = ok && Unobserved(have) != ""
		default:
			ok = false
		}
		if !ok || m.well(v) {
			m.fail("it is not true that %s", step.Condition.Message)
		}
	case OnLatest:
		if len(step.Keep) > 0 || len(step.Latest.Children) != v.latest.Desired.Len() {
			m.fail("it is not true that all is at the latest revision")
		}
	}
}

// kubelet lets a child that is being deleted go, or reports about one, well or not.
func (m *model) kubelet(o *object.Object, well bool) {
	if object.Deleting(o) {
		m.pods.put(o.GetName(), nil)
		return
	}
	o = object.Copy(o)
	status := map[string]any{"type": "Ready", "status": "False"}
	if well {
		status["status"] = "True"
	}
	o.Map()["status"] = map[string]any{"observedGeneration": o.GetGeneration(), "conditions": []any{status}}
	m.pods.put(o.GetName(), o)
}

// somePod is a child that is there, or nil.
func (m *model) somePod() *object.Object {
	all := slices.Sorted(maps.Keys(m.pods.now()))
	if len(all) == 0 {
		return nil
	}
	return m.pods.now()[all[m.IntN(len(all))]]
}

// happen lets something happen.
func (m *model) happen() {
	what, pod := m.IntN(12), m.somePod()
	m.note("%s", []string{
		"the parent is edited", "the parent is scaled", "the script is edited", "a child is deleted", "a child vanishes",
		"a child is changed by somebody", "a child crashes", "a child is reported on", "a child is reported on",
		"a child is reported on", "the parent is annotated", "the controller restarts",
	}[what])
	switch parent := object.Copy(m.parents.now()["web"]); {
	case what == 0:
		spec := parent.Map()["spec"].(map[string]any)
		spec["image"] = fmt.Sprint("v", m.IntN(4))
		m.parents.put("web", parent)
	case what == 1:
		m.setParent(parent, m.IntN(6))
	case what == 2:
		m.script = m.IntN(3)
	case what == 10:
		parent.SetAnnotations(map[string]string{"without": fmt.Sprintf("p%d of v%d", m.IntN(5), m.IntN(4))})
		m.parents.put("web", parent)
	case what == 11:
		m.restart()
	case pod == nil:
	case what == 3:
		_ = m.pods.do(plan.Op{Verb: plan.Delete, Object: pod})
	case what == 4:
		m.pods.put(pod.GetName(), nil)
	case what == 5:
		pod = object.Copy(pod)
		pod.Map()["spec"].(map[string]any)["image"] = "other"
		m.pods.put(pod.GetName(), pod)
	case what == 6:
		m.kubelet(pod, false)
	case what < 10:
		m.kubelet(pod, true)
	}
}

// restart begins with caches that are up to date.
func (m *model) restart() {
	m.parents.fresh()
	m.revisions.fresh()
	m.pods.fresh()
}

// live goes through a random history.
func (m *model) live() {
	for range 10 + m.IntN(30) {
		for range m.IntN(3) {
			m.happen()
		}
		m.parents.catchUp(m.Rand)
		m.revisions.catchUp(m.Rand)
		m.pods.catchUp(m.Rand)
		m.budget = 100
		if m.IntN(5) == 0 {
			m.budget = m.IntN(4)
		}
		m.sync()
		if m.budget == 0 {
			m.note("  the controller is killed")
			m.restart()
		}
	}
}

// settle syncs until there is nothing left to do. Children that are not in the way of somebody become well, except the
// one that is broken.
func (m *model) settle(broken string) {
	m.note("all is quiet, except for %q", broken)
	for range 100 {
		for _, name := range slices.Sorted(maps.Keys(m.pods.now())) {
			if o := m.pods.now()[name]; object.Deleting(o) || isReady(o) != (name != broken) || Unobserved(o) != "" {
				m.kubelet(o, name != broken)
			}
		}
		m.restart()
		m.budget = 100
		if !m.sync() {
			return
		}
	}
	m.fail("it does not come to rest")
}

// checkEnd: every child is as the latest revision wants it, and there is no other.
func (m *model) checkEnd() {
	v := m.look()
	if m.last.Reason != OnLatest {
		m.fail("the end is %s: %s", m.last.Reason, m.last.Message)
	}
	if len(m.revisions.now()) != 1 || len(v.latest.Children) != v.latest.Desired.Len() {
		m.fail("at the end there are revisions %v, and %d of %d children are at the latest", slices.Sorted(maps.Keys(m.revisions.now())), len(v.latest.Children), v.latest.Desired.Len())
	}
	if v.observed.Len() != v.latest.Desired.Len() {
		m.fail("at the end there are %s, want %s", list(v.observed), list(v.latest.Desired))
	}
	for want := range v.latest.Desired.All() {
		if have := get(v.observed, want.GetName()); !like(have, want) {
			m.fail("at the end %s is not as it should be: %v", named(want), have)
		}
	}
}

// Whatever happens, whenever: parents and scripts edited, children deleted, changed, crashing, a controller that sees
// old states and dies between any two writes.
func TestRandomHistories(t *testing.T) {
	const shards = 4
	histories := uint64(1600)
	if testing.Short() {
		histories = 320
	}
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			var syncs, moved, waited, died int
			for seed := shard; seed < histories; seed += shards {
				m := newModel(t, seed)
				m.live()
				if pod := m.somePod(); pod != nil && m.IntN(2) == 0 {
					m.settle(pod.GetName()) // waits for it, and tells the truth
				}
				m.settle("")
				m.checkEnd()
				syncs, moved, waited, died = syncs+m.syncs, moved+m.moved, waited+m.waited, died+m.died
			}
			t.Logf("seeds %d, %d, ... to %d: %d syncs, %d moves, %d waits, %d deaths", shard, shard+shards, histories-1, syncs, moved, waited, died)
			if enough := int(histories / shards); moved < enough || waited < enough || died < enough/4 {
				t.Error("too little happened to mean something")
			}
		})
	}
}
