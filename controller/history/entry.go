package history

import (
	"cmp"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/throttle"
	"metascript/engine"
)

// An Entry is one reconcile of a parent, or several in a row that need not be done.
type Entry struct {
	Time    time.Time       `json:"time"`               // when it began
	Took    metav1.Duration `json:"took"`               // from the beginning to the end
	Count   int             `json:"count,omitempty"`    // of reconciles in a row that need not be done; 0 for one that was done
	Last    *time.Time      `json:"lastTime,omitempty"` // of the last of them
	Reasons []string        `json:"reasons"`            // parent, child, related, request, script, resync, retry, key, claim or control
	Causes  []Cause         `json:"causes,omitempty"`   // the changes of objects among the reasons, the oldest first
	Missed  int             `json:"moreCauses,omitempty"`
	Source  string          `json:"source"`           // of the answer: the script was called, or nothing changed
	Script  string          `json:"script,omitempty"` // the beginning of the digest of the scripts
	Calls   []Call          `json:"calls,omitempty"`  // of hooks
	Writes  []Write         `json:"writes,omitempty"` // at most MaxWrites
	More    int             `json:"moreWrites,omitempty"`

	Candidate *Candidate `json:"candidate,omitempty"` // what came of the last comparison with a candidate in spec.shadow

	Error  string `json:"error,omitempty"`  // why it failed
	Detail string `json:"detail,omitempty"` // the error with the place in the script and its text
	Next   *Next  `json:"next,omitempty"`   // what the parent waits for then
	Hidden int    `json:"hidden,omitempty"` // how many causes and writes, also those of Candidate, are not shown, since the user may not read the objects
}

// Withhold replaces the names of objects that have values of Secrets. They are needed before that, to find out who may read the objects.
func (e *Entry) Withhold() {
	for i := range e.Causes {
		if c := &e.Causes[i]; c.Shown != nil {
			c.Object, c.Shown = *c.Shown, nil
		}
	}
	for i := range e.Writes {
		if w := &e.Writes[i]; w.Shown != nil {
			w.Object, w.Shown = *w.Shown, nil
		}
	}
}

// A Candidate is what came of calling a candidate in spec.shadow beside the script that runs.
type Candidate struct {
	Time       time.Time        `json:"time"`             // when it was compared
	Later      bool             `json:"later,omitempty"`  // not with the reconcile, but with the parent as it was then
	Took       metav1.Duration  `json:"took"`             // by the calls of the candidate
	Script     string           `json:"script,omitempty"` // the beginning of the digest of the candidate
	Result     string           `json:"result"`           // agrees, differs, error, or dropped: it was not called
	Difference string           `json:"difference,omitempty"`
	Object     *Object          `json:"object,omitempty"` // the child that differs
	Writes     []CandidateWrite `json:"writes,omitempty"` // that only one of the two versions would do
	More       int              `json:"moreWrites,omitempty"`
	Error      string           `json:"error,omitempty"`
	Detail     string           `json:"detail,omitempty"` // the error with the place in the script and its text
}

// A CandidateWrite is a write that only one of two versions would do.
type CandidateWrite struct {
	Live   bool   `json:"live,omitempty"` // the script that runs would do it, and not the candidate
	Object Object `json:"object"`
	Text   string `json:"text"`
}

// candidateOf returns a comparison in short. Its texts have no values of Secrets already.
func candidateOf(c *observe.Comparison) *Candidate {
	short := &Candidate{
		Time: c.At, Later: c.Began.IsZero(), Took: rounded(c.Took), Script: Digest(c.Script), Result: string(c.Result),
		Difference: cut(c.Difference, maxError), More: c.More,
	}
	if c.Child != (object.Ref{}) {
		of := ObjectOf(c.Child)
		short.Object = &of
	}
	for _, w := range c.Writes {
		short.Writes = append(short.Writes, CandidateWrite{w.Live, ObjectOf(w.Object), cut(w.Text, 4*maxText)})
	}
	if c.Err != nil {
		short.Error, short.Detail = cut(c.Err.Error(), maxError), cut(engine.DetailOf(c.Err), maxDetail)
		if short.Detail == short.Error {
			short.Detail = ""
		}
	}
	return short
}

// A Cause is a change of an object because of which the parent was reconciled.
type Cause struct {
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
	Object Object    `json:"object"`
	Shown  *Object   `json:"shown,omitempty"`  // see Entry.Withhold
	Change string    `json:"change"`           // created, changed or deleted
	Fields []string  `json:"fields,omitempty"` // paths of those that changed
	More   bool      `json:"moreFields,omitempty"`
}

// An Object names an object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// GroupKind returns the kind of the object, whichever its version is.
func (o Object) GroupKind() schema.GroupKind {
	group, _, both := strings.Cut(o.APIVersion, "/")
	if !both {
		group = "" // the core group, of which APIVersion is the version
	}
	return schema.GroupKind{Group: group, Kind: o.Kind}
}

// ObjectOf returns the Object of a Ref.
func ObjectOf(ref object.Ref) Object {
	return Object{ref.Kind.GroupVersion().String(), ref.Kind.Kind, ref.Namespace, ref.Name}
}

// A Call is a call of a hook and its answer in short.
type Call struct {
	Hook        string           `json:"hook"`               // sync, finalize or customize
	Revision    string           `json:"revision,omitempty"` // the ControllerRevision of the parent for which it was called
	Took        metav1.Duration  `json:"took"`
	Status      []string         `json:"status,omitempty"`   // fields of the status, with values if they are short
	Children    map[string]int   `json:"children,omitempty"` // how many, by kind
	Related     int              `json:"relatedRules,omitempty"`
	Finalized   bool             `json:"finalized,omitempty"`
	ResyncAfter *metav1.Duration `json:"resyncAfter,omitempty"`
	Failed      bool             `json:"failed,omitempty"` // see Entry.Error
}

// A Write is a write to an object and its result.
type Write struct {
	Verb   string  `json:"verb"`
	Object Object  `json:"object"`
	Shown  *Object `json:"shown,omitempty"` // see Entry.Withhold
	Why    string  `json:"why,omitempty"`
	Fields []Field `json:"fields,omitempty"` // that the write changed; none for a new object and a deletion
	More   bool    `json:"moreFields,omitempty"`
	Error  string  `json:"error,omitempty"`

	// Stored says which values of a child the API server stored in another form, such as "spec.cpu: 2000m is stored as 2".
	Stored []string `json:"stored,omitempty"`
}

// A Field is a field that a write changed. A value is "" if the field did not exist, and cut off if it is long. Values of Secrets are
// not in it.
type Field struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Next is what a parent waits for after a reconcile.
type Next struct {
	ResyncAt *time.Time `json:"resyncAt,omitempty"` // when it is reconciled again although nothing changed
	RetryAt  *time.Time `json:"retryAt,omitempty"`  // when the reconcile is repeated
	Held     bool       `json:"held,omitempty"`     // the script exceeded a limit repeatedly: until the parent or the script changes
	Unseen   int        `json:"unseen,omitempty"`   // the writes that the caches do not show yet
	Unstable bool       `json:"stale,omitempty"`    // an object changed meanwhile, or a cache was stale: this is no failure
}

// Limits of an Entry.
const (
	MaxWrites = 20  // more are counted
	maxFields = 8   // of one write
	maxStored = 4   // of one write
	maxText   = 80  // of a value, in bytes
	maxError  = 600 // of an error, in bytes
	maxDetail = 2000
	maxStatus = 12 // fields
)

func (r rested) entry() Entry {
	e := Entry{Time: r.first, Count: r.count, Reasons: names(r.why), Source: string(r.source)}
	if r.count > 1 {
		e.Last = &r.last
	}
	return e
}

// names returns the names of reasons.
func names(why queue.Reason) []string {
	if why == 0 {
		return []string{}
	}
	return strings.Split(why.String(), ",")
}

// entryOf returns the Entry of a reconcile. It has no values of Secrets.
func entryOf(r *observe.Reconcile) *Entry {
	e := &Entry{
		Time: r.Began, Took: rounded(r.Took), Reasons: names(r.Why), Missed: r.Missed, Source: string(r.Source),
		Script: Digest(r.Script), Next: nextOf(r),
	}
	for _, c := range r.Causes {
		e.Causes = append(e.Causes, Cause{Reason: c.Reason.String(), Time: c.At, Object: ObjectOf(c.Object), Change: string(c.Change), Fields: c.Fields, More: c.More})
	}
	w := &withheld{redactor: r.Redactor}
	for _, c := range r.Calls {
		e.Calls = append(e.Calls, w.call(c))
	}
	e.Writes = make([]Write, 0, min(len(r.Writes), MaxWrites))
	for _, write := range r.Writes {
		if len(e.Writes) == MaxWrites {
			e.More = len(r.Writes) - MaxWrites
			break
		}
		e.Writes = append(e.Writes, w.write(write))
	}
	if r.Err != nil {
		e.Error, e.Detail = r.Err.Error(), engine.DetailOf(r.Err)
		if e.Detail == e.Error {
			e.Detail = ""
		}
	}
	w.redact(e)
	return e
}

// digestLength is how many digits of a digest are shown. Two versions of one controller hardly have the same.
const digestLength = 12

// Digest returns the beginning of the digest of scripts, which is shown. The digest may begin with the name of its hash, as in a status.
func Digest(script string) string {
	digits := strings.TrimPrefix(script, "sha256:")
	return digits[:min(len(digits), digestLength)]
}

func rounded(d time.Duration) metav1.Duration {
	return metav1.Duration{Duration: d.Round(10 * time.Microsecond)}
}

// nextOf returns what the parent waits for after a reconcile; nil for a change only.
func nextOf(r *observe.Reconcile) *Next {
	end := r.Began.Add(r.Took)
	at := func(wait time.Duration) *time.Time {
		if wait <= 0 {
			return nil
		}
		t := end.Add(wait).Round(time.Millisecond)
		return &t
	}
	n := Next{ResyncAt: at(r.Again), RetryAt: at(r.Retry), Unseen: r.Unseen, Unstable: r.Err != nil && errors.Is(r.Err, kube.ErrRequeue)}
	var held *throttle.HeldError
	n.Held = errors.As(r.Err, &held)
	if n == (Next{}) {
		return nil
	}
	return &n
}

// call returns a call in short.
func (w *withheld) call(c observe.Call) Call {
	short := Call{Hook: c.Name, Revision: c.Revision, Took: rounded(c.Took), Failed: c.Err != nil}
	answer := c.Response
	if answer == nil {
		return short
	}
	short.Status, short.Finalized, short.Related = w.status(answer.Status), answer.Finalized, len(answer.Related)
	if answer.ResyncAfter > 0 {
		short.ResyncAfter = &metav1.Duration{Duration: answer.ResyncAfter}
	}
	if answer.Children != nil && answer.Children.Len() > 0 {
		short.Children = map[string]int{}
		for _, kind := range answer.Children.Kinds() {
			if n := len(answer.Children.Group(kind)); n > 0 {
				short.Children[kindText(kind)] += n
			}
		}
	}
	return short
}

// kindText returns the name of a kind with its group, such as "Pod" and "Deployment.apps".
func kindText(kind object.Kind) string {
	return cmp.Or(strings.TrimSuffix(kind.Kind+"."+kind.Group, "."), kind.Kind)
}
