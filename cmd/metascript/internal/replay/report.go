package replay

import (
	"time"
)

// A Report is the result of a replay. Its JSON form is the output for programs.
type Report struct {
	Controller string    `json:"controller"` // kind and name
	Recording  Recording `json:"recording"`

	Calls     int `json:"calls"`     // the selected ones
	Parents   int `json:"parents"`   // of these calls
	Same      int `json:"same"`      // calls with the same answer
	Kept      int `json:"kept"`      // calls for older revisions, whose own script answers as before
	Unrelated int `json:"unrelated"` // calls that the recorded script itself answers differently now, in the same way
	Different int `json:"different"` // calls with another answer
	Changed   int `json:"changed"`   // parents of these
	Redacted  int `json:"redacted"`  // of the different calls, those with a value that the recording replaced

	Effects     []Effect  `json:"effects,omitempty"`     // what the new answers would do
	Differences []*Group  `json:"differences,omitempty"` // each kind of difference, deletions and errors first
	NotReplayed []Skipped `json:"notReplayed,omitempty"`
	Varying     *Varying  `json:"varying,omitempty"` // the script answers the same call differently
	Notes       []string  `json:"notes,omitempty"`
	Unused      []string  `json:"unusedExpectations,omitempty"`
	Unexpected  int       `json:"unexpected"` // how many of Differences, NotReplayed, Varying and Recording.Unread are not expected
}

// A Recording is about the recording that was replayed.
type Recording struct {
	Program  string     `json:"program"`
	Began    time.Time  `json:"began"`
	Ended    *time.Time `json:"ended,omitempty"`
	Problems []string   `json:"problems,omitempty"` // it is cut off, or was edited
	Unread   bool       `json:"unread,omitempty"`   // the rest could not be read, as one of Problems says
	Dropped  int        `json:"dropped,omitempty"`  // reconciles that the server did not record
	Versions int        `json:"versions"`           // of the controller
}

// An Effect is what new answers would do to children of one kind, and the recorded answers would not.
type Effect struct {
	Verb     string   `json:"verb"` // delete, recreate, roll, restart, update, create, or leave: it is left as it is
	Kind     string   `json:"kind"`
	Children int      `json:"children"`
	Parents  int      `json:"parents"`
	Names    []string `json:"names"` // of some of the children, sorted
}

// A Group is all differences of one shape.
type Group struct {
	Shape    string   `json:"shape"` // the text for --expect
	Calls    int      `json:"calls"`
	Parents  int      `json:"parents"`
	Names    []string `json:"names"`              // of some of the parents, sorted
	Redacted int      `json:"redacted,omitempty"` // of the calls, those with a value that the recording replaced
	Effects  []Effect `json:"effects,omitempty"`
	Example  Example  `json:"example"`
	Expected bool     `json:"expected"`
}

// An Example is a difference in one call.
type Example struct {
	Call     int      `json:"call"` // its number, for --call
	Hook     string   `json:"hook"`
	Revision string   `json:"revision,omitempty"`
	Parent   string   `json:"parent"`
	Child    string   `json:"child,omitempty"`
	Lines    []string `json:"lines,omitempty"` // of a diff
	Error    string   `json:"error,omitempty"` // with the place in the script
	Place    string   `json:"place,omitempty"` // where the script writes the value, with the line
	Repeated bool     `json:"repeated,omitempty"`
}

// A Skipped is calls that could not be replayed.
type Skipped struct {
	Reason   string `json:"reason"`
	Calls    int    `json:"calls"`
	Example  int    `json:"example"` // the number of a call
	Parent   string `json:"parent"`  // of this call
	Expected bool   `json:"expected"`
}

// A Varying says that the script answered calls differently when they were made twice.
type Varying struct {
	Calls    int  `json:"calls"`
	Of       int  `json:"of"`      // calls that were made twice
	Example  int  `json:"example"` // the number of a call
	Expected bool `json:"expected"`
}
