// Package failures classifies the errors of syncs, and sums up for how many parents of a controller the last sync failed, and why.
package failures

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/engine"
)

// The results of a sync, in metrics.
const (
	OK           = "ok"
	ScriptError  = "script_error"  // a script failed, or returned something that is not valid
	WebhookError = "webhook_error" // a webhook failed, or answered something that is not valid
	Refused      = "refused"       // the API server refused a write
	Requeued     = "requeued"      // the sync is repeated soon: an object changed meanwhile, or a webhook asked to be called later
	OtherError   = "error"
)

// Results are all results.
var Results = []string{OK, ScriptError, WebhookError, Refused, Requeued, OtherError}

// ResultOf returns the result of a sync that ended with err.
func ResultOf(err error) string {
	var script *engine.Error
	var webhook *hook.WebhookError
	var later *hook.RetryAfter
	var refused apierrors.APIStatus
	switch {
	case err == nil:
		return OK
	case errors.As(err, &script):
		return ScriptError
	case errors.As(err, &webhook):
		return WebhookError
	case errors.Is(err, kube.ErrRequeue), errors.As(err, &later):
		return Requeued
	case errors.As(err, &refused):
		return Refused
	}
	return OtherError
}

// A Failure is the error of the last sync of a parent.
type Failure struct {
	Parent object.Ref
	Err    error
}

// A Summary says for how many parents of a controller the last sync failed, and with which error most of them did.
type Summary struct {
	Known   bool // every parent was synced once; otherwise the other fields are zero
	Parents int  // all that the controller selects and sees
	Failing int  // those for which the last sync failed

	Shared int        // how many of these failed with the same error, except for their names
	First  object.Ref // the first of these by name, so that it stays the same while the parents do
	Text   string     // its error, with the source line and the caret of a script error
	Line   string     // its error in one line, as a column shows it
	Kind   string     // the Kind of its error
	Same   TextID     // of its error
	Since  time.Time  // when the first parent failed because of this; zero if that is not known
}

// maxLine is the maximum length of Summary.Line in bytes.
const maxLine = 300

// Kind says what kind of error err is, and at which position of a script. It has no text that a script, a webhook or an object can
// have chosen, so that it may be shown to users who may not see the parents.
func Kind(err error) string {
	var script *engine.Error
	var webhook *hook.WebhookError
	var refused apierrors.APIStatus
	switch {
	case errors.As(err, &script):
		return fmt.Sprintf("an error of the script (%s)%s", script.Kind, at(script.Pos))
	case errors.As(err, &webhook):
		return "an error of a webhook"
	case errors.As(err, &refused):
		return fmt.Sprintf("a request that the API server refused (%s)", cmp.Or(string(apierrors.ReasonForError(err)), "no reason"))
	}
	return "another error"
}

func at(pos engine.Pos) string {
	if pos == (engine.Pos{}) {
		return ""
	}
	return " at " + pos.String()
}

// Sum sums up failures. The same error of several parents has the name of each in its text, most often in the names of children.
func Sum(failed []Failure) Summary {
	type group struct {
		size  int
		first Failure
	}
	groups, most := map[TextID]*group{}, &group{}
	for _, f := range failed {
		key := TextOf(f)
		g := groups[key]
		if g == nil {
			g = &group{first: f}
			groups[key] = g
		}
		g.size++
		if cmp.Less(f.Parent.String(), g.first.Parent.String()) {
			g.first = f
		}
	}
	sum := Summary{Known: true, Failing: len(failed)}
	for text, g := range groups {
		if g.size > most.size || g.size == most.size && cmp.Less(g.first.Parent.String(), most.first.Parent.String()) {
			most, sum.Same = g, text
		}
	}
	if sum.Shared, sum.First = most.size, most.first.Parent; most.size > 0 {
		err := most.first.Err
		sum.Text, sum.Kind, sum.Line = engine.DetailOf(err), Kind(err), engine.Clip(strings.Join(strings.Fields(err.Error()), " "), maxLine)
	}
	return sum
}

// withoutWord replaces word in text by a placeholder, where it is not a part of a longer word.
func withoutWord(text, word string) string {
	if word == "" {
		return text
	}
	var out strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return out.String() + text
		}
		end := i + len(word)
		inside := i > 0 && isAlphanumeric(text[i-1]) || end < len(text) && isAlphanumeric(text[end])
		out.WriteString(text[:i])
		if inside {
			out.WriteString(word)
		} else {
			out.WriteByte('*')
		}
		text = text[end:]
	}
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// ReportInterval is how often a Report changes at most, except that it follows another error at once, earlyChanges times in a row.
const (
	ReportInterval = time.Minute
	earlyChanges   = 5
)

// A Report is the Summary that the status of a controller shows. It changes rarely, so that the status is not written for each
// parent. The zero value shows that nothing is known.
type Report struct {
	version any // of the hooks
	shown   Summary
	changed time.Time
	early   int // changes since ReportInterval passed without one
}

// Update returns what is to be shown when now is the current Summary. The first Summary of another version of the hooks is shown at once.
func (r *Report) Update(current Summary, version any, now time.Time) Summary {
	if r.version != version {
		*r = Report{version: version}
	}
	switch {
	case !current.Known:
		*r = Report{version: version}
	case current != r.shown && now.Sub(r.changed) >= ReportInterval:
		// It changes at once after it was unknown, or the same for some time.
		if r.shown.Known {
			r.changed, r.early = now, 0
		}
		r.shown = current
	case current.Same != r.shown.Same && r.early < earlyChanges:
		r.early++
		r.changed, r.shown = now, current
	}
	return r.shown
}
