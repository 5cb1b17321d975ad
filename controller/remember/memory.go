package remember

import (
	"strings"
	"time"

	"metascript/controller/etags"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/ownership"
)

// A Snapshot is what the caches have of a parent.
type Snapshot struct {
	Epoch    uint64           // see Epoch
	Parent   *object.Object   // nil: there is none
	Selected bool             // the controller selects the parent, which is not paused
	Owned    []*object.Object // the objects whose controller is the parent

	// Fields returns the fields of a child that our field manager owns now. They can change although the child looks the same.
	Fields func(child *object.Object) ownership.Fields
}

// A Memory is what is remembered of the last reconcile of one parent. The zero value remembers nothing. It is not safe for concurrent use.
type Memory struct {
	clean  bool // the last reconcile that has ended was clean
	idle   bool // it was, but may have to be done again after the time that its answer says
	last   base // what it depended on
	answer Answer

	// These fields are about the reconcile that runs.

	control bool   // it is done as a control
	before  Answer // the remembered answer
	uses    uses   // of the reconcile before
	exact   bool   // the base of the reconcile before was exact
	planned bool   // the plan of the remembered answer, which has no writes, would have none now either
	did     bool   // it has written something other than the status, or is Unsettled
	wrote   string // the first write of a control

	disturbed func() bool // reports whether something has changed since it began; nil once it was asked
	excused   bool        // something has changed before its first write, so that a difference does not count
}

// A Source says where the answer of a reconcile comes from.
type Source string

// The sources. Metrics have them too.
const (
	Computed           Source = "computed"             // of the hook, or of none, if there was nothing to call it for
	SameAnswer         Source = "same_answer"          // of the hook, and it was the answer of the last reconcile; nothing was planned
	NothingChanged     Source = "nothing_changed"      // of the last reconcile, since which nothing has changed
	NothingReadChanged Source = "nothing_read_changed" // of the last reconcile, since which nothing has changed that the script has read
)

// Holds returns why the next reconcile would do nothing now: NothingChanged or NothingReadChanged; or Computed if it may do something.
// related returns the related objects, if they may have changed, and whether they are known; nil: they are as before.
func (m *Memory) Holds(now Snapshot, related func() (found []*object.Object, known bool)) Source {
	if !m.clean || !now.Selected {
		return Computed
	}
	moves, ok := m.last.compare(now, related)
	switch {
	case !ok:
		return Computed
	case moves.none():
		return NothingChanged
	}
	m.last.move(moves)
	return NothingReadChanged
}

// Begin notes that a reconcile begins, with what the caches have before anything is read. control says that it need not be done. disturbed
// reports whether something has changed since; it is called before the first write, which is a change itself, or at the end.
func (m *Memory) Begin(now Snapshot, control bool, disturbed func() bool) {
	planned := m.idle && now.Selected && !control
	if planned {
		_, planned = m.last.plansTheSame(now)
	}
	*m = Memory{last: newBase(now), control: control, before: m.answer, uses: m.last.uses, exact: m.last.exact, planned: planned, disturbed: disturbed}
}

// Wrote notes that the reconcile that runs is about to write, or to make a dry run. status says that it is the status of the parent.
func (m *Memory) Wrote(op string, status bool) {
	m.ask()
	m.did = m.did || !status
	if m.wrote == "" && m.control {
		m.wrote = op
	}
}

// WroteStatus notes that the reconcile that runs has written the status of the parent, which has this resourceVersion since. This is
// a clean reconcile nevertheless: the event of the write shows nothing new, unless the script has read the status.
func (m *Memory) WroteStatus(version string) { m.last.written = strings.Clone(version) }

// ask asks once whether something has changed since the reconcile began.
func (m *Memory) ask() {
	if m.disturbed != nil {
		m.excused, m.disturbed = m.disturbed(), nil
	}
}

// Unsettled notes that the reconcile that runs does something that the next one has to do again, such as a warning.
func (m *Memory) Unsettled() { m.did = true }

// Settled reports whether nothing follows from a cached response of a webhook, for a request of which read is known: it is the answer of
// the last reconcile, and the plan would be the same. An answer with events is not settled, since they are recorded each time.
func (m *Memory) Settled(cached etags.ID, read *object.Recorder) bool {
	m.last.read(read)
	return m.planned && m.exact && m.last.exact && !m.did && cached != 0 && cached == m.before.cached && m.before.events == 0
}

// Answered notes the answer of the hook, and what it has read; a nil Recorder is not known. customized says that there is a customize
// hook. The result is true if nothing has to be planned or written: it would be the same as in the last reconcile, which was idle.
func (m *Memory) Answered(r *hook.Response, read *object.Recorder, customized bool) (settled bool) {
	if r.Settled {
		m.answer, m.last.uses = m.before, m.uses.of(m.last.parent)
		return true
	}
	if m.answer = AnswerOf(r); len(r.Warnings) > 0 {
		m.did = true
	}
	m.last.read(read)
	m.last.uses = usesOf(r, m.last.parent, customized)
	return m.planned && m.last.exact && !m.did && m.answer == m.before
}

// Again returns after which time the answer says that the hook is called again; zero for none.
func (m *Memory) Again() time.Duration { return m.answer.again }

// Suppressed notes that children differ from what the script returned, and are left as they are: another difference would be reported.
func (m *Memory) Suppressed() { m.last.exact = false }

// End notes that the reconcile has ended. settled says that it called the hook, failed with nothing and waits for nothing, except that
// it has to be done again after some time.
func (m *Memory) End(settled bool, again time.Duration) {
	m.ask()
	m.idle = settled && !m.did && m.answer != (Answer{}) && again == m.answer.again
	m.clean = m.idle && again == 0
}

// Mismatch says in what a control differs from what was remembered; "" in nothing, or if something has changed meanwhile. It is called
// after End. The reconcile must not have failed.
func (m *Memory) Mismatch() string {
	switch {
	case !m.control || m.excused:
		return ""
	case m.wrote != "":
		return "it wants to " + m.wrote
	case m.answer != (Answer{}):
		return m.before.difference(m.answer)
	}
	return ""
}
