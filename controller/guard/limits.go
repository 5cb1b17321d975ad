package guard

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/preview"
	"metascript/controller/shell"
	"metascript/engine"
)

// maxAnnotation is how long the value of an annotation is in a message: as long as a digest.
const maxAnnotation = len("sha256:") + sha256.Size*2

// letThrough returns the lines at the end of the message for a version that is held: how to let it through, and why an annotation does not.
func (v *Version) letThrough() string {
	text := ""
	if other := v.Object.Annotation(ApprovedAnnotation); other != "" {
		text = fmt.Sprintf("\nthe annotation %s has no effect on this version, since its value is %q", ApprovedAnnotation, engine.Clip(other, maxAnnotation))
	}
	return text + fmt.Sprintf("\nif that is intended, let this version through: kubectl annotate --overwrite %s %s %s=%s", v.ID().Resource(), shell.Quote(v.ID().Name), ApprovedAnnotation, Digest(v.Identity))
}

// judge returns why a version is held that would do what s says, or nil; and what it would do, in words.
func judge(limits *v1alpha1.ScriptGuard, name string, s *preview.Summary) (held *Error, text said) {
	var beyond []string
	for _, l := range []struct {
		limit *intstr.IntOrString
		name  string
		n, of int
		what  string // with the numbers
	}{
		{limits.MaxDeletes, "maxDeletes", s.Total.Deletes, s.Children, "delete %d of %s"},
		{limits.MaxRecreates, "maxRecreates", s.Total.Recreates, s.Children, "recreate %d of %s"},
		{limits.MaxRestarts, "maxRestarts", s.Restarts, s.Pods, "restart %d of %s"},
		{limits.MaxChangedParents, "maxChangedParents", s.Changed, s.Parents, "change %d of %s"},
	} {
		all := plural(l.of, "child", "children")
		switch l.name {
		case "maxRestarts":
			all = plural(l.of, "Pod", "Pods")
		case "maxChangedParents":
			all = plural(l.of, "parent", "parents")
		}
		most, shown, err := limitOf(l.limit, l.of)
		switch {
		case err != nil:
			message := fmt.Sprintf("spec.script.guard.%s: %v", l.name, err)
			return &Error{Reason: v1alpha1.ReasonGuardIncomplete, Message: message, Counts: message}, said{}
		case l.limit != nil && l.n > most:
			beyond = append(beyond, fmt.Sprintf(l.what, l.n, all)+fmt.Sprintf(" (%s: %s)", l.name, shown))
		}
	}
	if len(beyond) == 0 {
		const within = "what this version would do is within the limits: "
		return nil, said{within + effects(s) + failing(s), within + effects(s)}
	}
	counts := fmt.Sprintf("the guard holds version %s, which would %s; in all: %s", name, strings.Join(beyond, " and "), effects(s))
	return &Error{Reason: v1alpha1.ReasonGuardExceeded, Message: counts + failing(s) + examples(s), Counts: counts}, said{}
}

// limitOf returns the value of a limit for a number of objects, rounded down, and the limit as text.
func limitOf(limit *intstr.IntOrString, of int) (most int, shown string, err error) {
	if limit == nil {
		return 0, "", nil
	}
	if most, err = intstr.GetScaledValueFromIntOrPercent(limit, of, false); err != nil {
		return 0, "", err
	}
	if limit.Type == intstr.String {
		return most, fmt.Sprintf("%s, which is %d", limit, most), nil
	}
	return most, limit.String(), nil
}

// incomplete returns the error for a version of which it could not be computed what it would do.
func incomplete(name string, s preview.Summary, why error) *Error {
	held := fmt.Sprintf("the guard holds version %s, since it is not known what it would do", name)
	sofar := fmt.Sprintf("; so far, for %s: %s", plural(s.Parents, "parent", "parents"), effects(&s))
	return &Error{Reason: v1alpha1.ReasonGuardIncomplete, Message: fmt.Sprintf("%s: %v%s%s%s", held, why, sofar, failing(&s), examples(&s)), Counts: held + sofar}
}

// effects says what a version would do.
func effects(s *preview.Summary) string {
	t := s.Total
	text := fmt.Sprintf("delete %d, recreate %d, update %d and create %d children, and change %d of %s", t.Deletes, t.Recreates, t.Updates, t.Creates, s.Changed, plural(s.Parents, "parent", "parents"))
	if s.Rolling > 0 {
		text += fmt.Sprintf("; %d of the children in a rolling update, one after the other", s.Rolling)
	}
	if s.Restarts > 0 {
		text += fmt.Sprintf("; %s of %d restart", plural(s.Restarts, "Pod", "Pods"), s.Pods)
	}
	if s.Doubtful > 0 {
		text += fmt.Sprintf("; for %d of the children only the API server can tell whether they change", s.Doubtful)
	}
	if s.Failed > 0 {
		text += fmt.Sprintf("; its hooks fail for %s, for which nothing is written", plural(s.Failed, "parent", "parents"))
	}
	return text
}

// failing names one of the parents for which the hooks of a version fail, at the end of effects.
func failing(s *preview.Summary) string {
	if s.Failed == 0 {
		return ""
	}
	first := s.Failures[0]
	line, _, _ := strings.Cut(engine.Clip(first.Err.Error(), maxError), "\n")
	return fmt.Sprintf(", such as %s: %s", named(first.Parent), line)
}

// maxError is how long the error of a hook is in a message.
const maxError = 300

// maxExamples is how many writes a message names.
const maxExamples = 5

// examples lists some of the writes, each in a line.
func examples(s *preview.Summary) string {
	var text strings.Builder
	for i, e := range s.Examples {
		if i == maxExamples {
			break
		}
		text.WriteString("\n  ")
		switch e.Effect {
		case preview.UpdateParent, preview.UpdateStatus:
			fmt.Fprintf(&text, "%s %s", e.Effect, named(e.Parent))
		default:
			fmt.Fprintf(&text, "%s %s of %s", e.Effect, named(e.Object), named(e.Parent))
		}
		if e.Field != "" {
			text.WriteString(": " + e.Field + " differs")
		}
	}
	return text.String()
}

func named(o object.Ref) string { return o.Kind.Kind + " " + o.String() }

// plural returns a number with the word for it.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
