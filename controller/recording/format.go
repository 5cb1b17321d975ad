// Package recording has the format of recordings: files with the reconciles of parents, which can be replayed with another version of
// the scripts.
//
// A recording is gzipped JSON Lines: each line is one [Line]. The first is the Header. What a line refers to comes before it: the version
// of the controller, and the objects, each version of which is written once, with the digest of its content, or again after many others. The last is the End; a
// recording without it was cut off, and can be used up to there.
//
// A recording has no values of Secrets. In their place it has keyed hashes, so that values that are equal have equal hashes; the key is
// not in the recording. The same values are replaced wherever else they appear; see package scrub.
//
//   - format.go has the types of the lines
//   - a [Writer] writes lines, and a [Reader] reads and checks them
//   - a [File] is a recording on disk, of which each reconcile is read with its objects
package recording

import (
	"encoding/json"
	"time"
)

// Format is the version of the format that this package writes. It reads this version and earlier ones.
const Format = 1

// A Line is one line of a recording. Exactly one field is set.
type Line struct {
	Header     *Header     `json:"header,omitempty"`
	Controller *Controller `json:"controller,omitempty"`
	Object     *Object     `json:"object,omitempty"`
	Reconcile  *Reconcile  `json:"reconcile,omitempty"`
	End        *End        `json:"end,omitempty"`
}

// A Header is the first line.
type Header struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // the version of the program that recorded
	Began   time.Time `json:"began"`
	Filter  Filter    `json:"filter"`
}

// A Filter says what is recorded. The zero value is everything.
type Filter struct {
	Controllers []string      `json:"controllers,omitempty"` // names of controller objects; none: all
	Namespace   string        `json:"namespace,omitempty"`   // of parents
	Parent      string        `json:"parent,omitempty"`      // the name of parents
	For         time.Duration `json:"for,omitempty"`         // in nanoseconds; zero: without limit
	Bytes       int64         `json:"bytes,omitempty"`       // limit of the compressed size; zero: without limit
}

// A Controller is one version of a controller object with its scripts.
type Controller struct {
	ID       string            `json:"id"`      // reconciles refer to it
	Object   json.RawMessage   `json:"object"`  // without status and managedFields
	Scripts  map[string]Script `json:"scripts"` // the key of spec.script is ""; a hook that has its own script has its name as the key
	Digest   string            `json:"digest"`  // of the scripts, in hexadecimal; "" without scripts
	Parents  []Resource        `json:"parents"`
	Children []Resource        `json:"children"`
	Redacted bool              `json:"redacted,omitempty"` // the object or a script had a value that was replaced
}

// A Script is the files of one script.
type Script struct {
	Language string            `json:"language"`
	Entry    string            `json:"entry"` // the name of the file that is run first
	Files    map[string]string `json:"files"` // their texts, by name
}

// A Resource is a declared resource as discovery found it.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Resource   string `json:"resource"`
	Namespaced bool   `json:"namespaced"`
	HasStatus  bool   `json:"hasStatus,omitempty"` // it has the status subresource
}

// An Object is one version of an object.
type Object struct {
	Digest   string          `json:"digest"` // of Content, "sha256:..."
	Content  json.RawMessage `json:"content"`
	Redacted []string        `json:"redacted,omitempty"` // paths of what was replaced, such as data.password; sorted
}

// A Reconcile is one reconcile of a parent that was done.
type Reconcile struct {
	Controller string        `json:"controller"` // Controller.ID
	Parent     Ref           `json:"parent"`
	UID        string        `json:"uid,omitempty"`
	Began      time.Time     `json:"began"`
	Took       time.Duration `json:"took"` // in nanoseconds
	Why        []string      `json:"why"`  // the reasons, such as "child"
	Causes     []Cause       `json:"causes,omitempty"`
	Source     string        `json:"source"` // computed or same_answer
	Calls      []Call        `json:"calls,omitempty"`
	Writes     []Write       `json:"writes,omitempty"`
	Again      time.Duration `json:"again,omitempty"` // after which the parent is reconciled again although nothing changes
	Error      string        `json:"error,omitempty"`
}

// A Ref names an object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// A Cause is a change of an object because of which the parent was reconciled.
type Cause struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Object Ref       `json:"object"`
	Change string    `json:"change"` // created, changed or deleted
	Fields []string  `json:"fields,omitempty"`
}

// A Call is one call of a hook.
type Call struct {
	Hook          string        `json:"hook"`                    // sync, finalize or customize
	Revision      string        `json:"revision,omitempty"`      // the ControllerRevision of the parent for which it was called
	OlderScript   bool          `json:"olderScript,omitempty"`   // the script of that revision was called, and not that of the Controller
	Webhook       bool          `json:"webhook,omitempty"`       // a webhook was called, or the fallback of a script
	Now           time.Time     `json:"now"`                     // request.now
	Took          time.Duration `json:"took"`                    // in nanoseconds
	Parent        string        `json:"parent"`                  // the digest of the object
	Children      []Group       `json:"children,omitempty"`      // not of a customize hook, which does not get them
	Related       []Group       `json:"related,omitempty"`       // not set: there is no customize hook
	Finalizing    bool          `json:"finalizing,omitempty"`    // request.finalizing
	RefuseMissing bool          `json:"refuseMissing,omitempty"` // the effective missingChildren is Hold
	Limits        *Limits       `json:"limits,omitempty"`        // of the script; not set for a webhook

	// Random are the random values that the script got, by the function, the name and the options; in place of passwords and tokens there are
	// the same hashes as elsewhere.
	Random map[string]string `json:"random,omitempty"`

	Answer     *Answer       `json:"answer,omitempty"` // nil: the call failed
	Error      string        `json:"error,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"` // the hook requested to be called again after this; Error has the text
	Redacted   bool          `json:"redacted,omitempty"`   // an object of the request or the answer, or the error, had a value that was replaced
}

// A Group has the objects of one kind, in the order of the request.
type Group struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Objects    []string `json:"objects"` // their digests
}

// Limits are those of the script.
type Limits struct {
	Timeout time.Duration `json:"timeout,omitempty"`
	Steps   int64         `json:"steps,omitempty"`
	Memory  int64         `json:"memory,omitempty"`
	Output  int64         `json:"output,omitempty"`
}

// An Answer is a response in the form that its hook returned it, after it was checked and completed.
type Answer struct {
	Status       json.RawMessage    `json:"status,omitempty"` // not set: it is left as it is
	Labels       map[string]*string `json:"labels,omitempty"` // null removes a label
	Annotations  map[string]*string `json:"annotations,omitempty"`
	Children     []string           `json:"children,omitempty"` // the digests of the desired children, in their order
	ResyncAfter  time.Duration      `json:"resyncAfter,omitempty"`
	Finalized    bool               `json:"finalized,omitempty"`
	NotFinalized bool               `json:"notFinalized,omitempty"` // the hook answered finalized: false
	Settled      bool               `json:"settled,omitempty"`      // a webhook answered what it answered before, and nothing else is set
	Events       []Event            `json:"events,omitempty"`
	Related      json.RawMessage    `json:"related,omitempty"` // the rules of a customize hook
	Warnings     []string           `json:"warnings,omitempty"`
}

// An Event is one that a hook returned.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// A Write is a write and its result.
type Write struct {
	Verb   string        `json:"verb"` // as in package plan
	Object Ref           `json:"object"`
	Why    string        `json:"why,omitempty"`    // why it was written
	Before string        `json:"before,omitempty"` // the digest of the object; not set: it did not exist
	After  string        `json:"after,omitempty"`  // the digest of the stored object; not set: the write failed
	Error  string        `json:"error,omitempty"`
	Took   time.Duration `json:"took"`
}

// An End is the last line.
type End struct {
	Ended      time.Time `json:"ended"`
	Reconciles int       `json:"reconciles"`
	Calls      int       `json:"calls"`
	Objects    int       `json:"objects"`           // versions of objects
	Redacted   int       `json:"redacted"`          // of these, how many had a value that was replaced
	Dropped    int       `json:"dropped"`           // reconciles that were not recorded because the writer was not fast enough
	Denied     int       `json:"denied,omitempty"`  // reconciles that were not recorded because the user may not read an object of them
	Remembered int       `json:"remembered"`        // reconciles that were not done, because nothing had changed; they are not recorded
	Discard    bool      `json:"discard,omitempty"` // the recording may have a value of a Secret: it must be deleted
	Why        string    `json:"why"`               // why it ended, such as "the time is over"

	// Unrecorded are the parents that the recorded controllers have and that no recorded reconcile is about; nil: it is not known.
	Unrecorded *Unrecorded `json:"unrecorded,omitempty"`
}

// Unrecorded are the parents without a reconcile, of each controller that has some.
type Unrecorded []UnrecordedOf

// An UnrecordedOf is the parents of one controller without a reconcile.
type UnrecordedOf struct {
	Kind       string `json:"kind"` // of the controller
	Controller string `json:"controller"`
	Count      int    `json:"count"`
	Parents    []Ref  `json:"parents"` // the first of them by name
}

// Of returns the parents of a controller without a reconcile. It has none if that is not known.
func (u *Unrecorded) Of(kind, controller string) UnrecordedOf {
	if u != nil {
		for _, of := range *u {
			if of.Kind == kind && of.Controller == controller {
				return of
			}
		}
	}
	return UnrecordedOf{}
}
