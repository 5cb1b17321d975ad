package changeplan

import (
	"encoding/json"

	"metascript/controller/restarts"
)

// FormatVersion is the version of the format of a Document. Fields are added without a new version, but not removed or renamed.
const FormatVersion = 1

// A Document is a plan as the command prints it with -o json. Values of Secrets are redacted in all its texts.
type Document struct {
	FormatVersion int `json:"formatVersion"`

	// Against is "cluster" if the changes are those to the objects in the cluster, and "live" if they are the differences from what the
	// controller in the cluster would do.
	Against string `json:"against"`

	// Complete is false if the plan ended before each parent was planned: it was interrupted, or it took too long. The parents that
	// were not planned have the result "pending".
	Complete bool `json:"complete"`

	Controllers []Controller `json:"controllers"`
	Summary     Summary      `json:"summary"`

	// Groups have the changes that are alike: the same action on the same kind with the same fields.
	Groups []Group `json:"groups"`

	// Parents are those with a change, drift, or another result than "unchanged", sorted by controller, kind, namespace and name.
	Parents []Parent `json:"parents"`
}

// A Controller is a controller of the files.
type Controller struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Problem string   `json:"problem,omitempty"` // why it does not run, so that its parents are not planned
	Notes   []string `json:"notes,omitempty"`   // what a reader of the plan has to know
}

// A Summary has the sums of a plan.
type Summary struct {
	Parents  ParentCounts   `json:"parents"`
	Changes  []Count        `json:"changes"`  // by action and kind
	Restarts []RestartCount `json:"restarts"` // by what is restarted
	Rolling  []RollingCount `json:"rolling"`  // the children that change one at a time, by kind
}

// ParentCounts are numbers of parents. All but Drift, which is part of Unchanged, add up to Total.
type ParentCounts struct {
	Total     int `json:"total"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Drift     int `json:"drift"`   // unchanged by the edit, although both versions would change something; only with Against "live"
	Failed    int `json:"failed"`  // what would change is not known
	Paused    int `json:"paused"`  // by the annotation; nothing is done for them
	Pending   int `json:"pending"` // not planned yet when the plan ended
}

// A Count is the number of changes of one kind of objects.
type Count struct {
	Action     Action `json:"action"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Count      int    `json:"count"`
}

// A RestartCount says what changes of one kind of objects restart.
type RestartCount struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	How        restarts.How `json:"how"`
	Objects    int          `json:"objects"`
	Pods       int          `json:"pods"`    // of those objects whose number of Pods is known
	Unknown    int          `json:"unknown"` // objects whose number of Pods is not known
}

// A RollingCount says how many children of one kind a rolling update method changes, one at a time.
type RollingCount struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Now        int    `json:"now"`   // in the first step
	Later      int    `json:"later"` // in later steps, each when the children before are healthy
}

// A Group has changes that are alike.
type Group struct {
	Action     Action       `json:"action"`
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Fields     []string     `json:"fields,omitempty"`
	Restart    restarts.How `json:"restart,omitempty"`
	Rolling    Rolling      `json:"rolling,omitempty"`
	Live       Action       `json:"live,omitempty"` // see Change
	Count      int          `json:"count"`          // of changes
	Parents    []string     `json:"parents"`        // such as "Site default/web", sorted
	Example    string       `json:"example"`        // the object of one of the changes, such as "Pod default/web-0"

	first *Change
}

// A Parent is what is planned for one parent of one controller.
type Parent struct {
	Controller string   `json:"controller"` // such as "CompositeController sites"
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	Result     Result   `json:"result"`
	Error      string   `json:"error,omitempty"` // with the place in the script, if it has one
	Changes    []Change `json:"changes,omitempty"`
	Drift      int      `json:"drift,omitempty"` // how many changes both versions would do; only with Against "live"
}

// A Result says what a plan found for a parent.
type Result string

// The results.
const (
	Changed   Result = "changed"
	Unchanged Result = "unchanged"
	Failed    Result = "failed"
	Paused    Result = "paused"
	Pending   Result = "pending"
)

// An Action is what is done to an object.
type Action string

// The actions on children.
const (
	Create     Action = "create"
	Update     Action = "update"
	Recreate   Action = "recreate" // delete it, and create it again
	Delete     Action = "delete"
	Adopt      Action = "adopt"      // add the owner reference to it
	Release    Action = "release"    // remove the owner reference from it
	Suppressed Action = "suppressed" // nothing: it differs, and the update method OnDelete leaves it as it is
	Leave      Action = "leave"      // nothing, other than the live version; only with Against "live"
)

// The other actions.
const (
	Status    Action = "status"    // update the status of the parent
	Finalizer Action = "finalizer" // add the finalizer to the parent, or remove it
	Decorate  Action = "decorate"  // update labels and annotations of the parent
	Revision  Action = "revision"  // write a ControllerRevision, which records a rolling update
)

// actions are the actions in the order in which they are shown: what removes something first.
var actions = []Action{Delete, Recreate, Create, Update, Adopt, Release, Leave, Decorate, Finalizer, Status, Revision, Suppressed}

// A Rolling says when a child of a rolling update method changes.
type Rolling string

// The times.
const (
	Now   Rolling = "now"   // in the first step
	Later Rolling = "later" // in a later step
)

// A Change is what is done to one object.
type Change struct {
	Action     Action   `json:"action"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	Why        string   `json:"why,omitempty"`
	Fields     []string `json:"fields,omitempty"` // the paths of the fields that differ
	Diff       []string `json:"diff,omitempty"`   // lines of YAML, each with a sign and a space before it

	Restart restarts.How `json:"restart,omitempty"` // how the change restarts Pods; "" if it does not
	Pods    *int         `json:"pods,omitempty"`    // how many Pods it restarts, if that is known

	Rolling Rolling `json:"rolling,omitempty"` // set if its update method is a rolling one

	// Live is what the live version would do to the object instead; "" if nothing. If it is the same as Action, it would write something
	// else. Diff is then the difference between both results. Only with Against "live".
	Live Action `json:"live,omitempty"`

	write *Write
}

// MarshalJSON implements json.Marshaler: lists that are part of the format are never null.
func (d Document) MarshalJSON() ([]byte, error) {
	type plain Document
	p := plain(d)
	p.Controllers, p.Groups, p.Parents = notNull(p.Controllers), notNull(p.Groups), notNull(p.Parents)
	p.Summary.Changes, p.Summary.Restarts, p.Summary.Rolling = notNull(p.Summary.Changes), notNull(p.Summary.Restarts), notNull(p.Summary.Rolling)
	return json.Marshal(p)
}

func notNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
