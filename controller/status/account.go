package status

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/failures"
	"metascript/controller/guard"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/shadow"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// Users of all tenants may read controller objects and the events about them. So the status of a controller with an account has no
// names of objects and of namespaces, except for that of the account, and no texts of errors that a script, a webhook or the API server
// may have made of objects. It has reasons, numbers, and positions in scripts. The whole texts are the Details of the controller.

// A Detail is the whole message of a condition, of which the status shows only a part.
type Detail struct {
	Condition, Reason, Message string
	Good                       bool // nothing is wrong
}

// Details returns what the status of a controller with an account leaves out; nil for a controller without an account.
func Details(d *spec.Declaration, r *Result) []Detail {
	if d.Settings.ServiceAccount == nil {
		return nil
	}
	var all []Detail
	shown := conditions(d, r.forAll(d))
	for i, whole := range conditions(d, r) {
		if whole.Message != shown[i].Message && !repeats(whole.Type, r) {
			good := whole.Type == v1alpha1.ConditionGuardPassed && whole.Status == metav1.ConditionTrue
			all = append(all, Detail{whole.Type, whole.Reason, whole.Message, good})
		}
	}
	return all
}

// repeats reports whether a condition has the text of another one.
func repeats(condition string, r *Result) bool {
	switch condition {
	case v1alpha1.ConditionReady:
		return r.Err() != nil && r.Err() == r.ScriptErr || r.Err() == nil && kube.Forbidden(r.CacheError) != nil
	case v1alpha1.ConditionScriptReady:
		return guard.Holds(r.ScriptErr)
	}
	return false
}

// shown returns the conditions as the status shows them.
func shown(d *spec.Declaration, r *Result) []metav1.Condition {
	whole := conditions(d, r)
	if d.Settings.ServiceAccount == nil {
		return whole
	}
	all := conditions(d, r.forAll(d))
	for i := range all {
		if all[i].Message == whole[i].Message {
			continue
		}
		first, more, found := strings.Cut(all[i].Message, "\n")
		all[i].Message = fmt.Sprintf("%s; events in namespace %s have the details", first, d.Settings.ServiceAccount.Namespace)
		if found {
			all[i].Message += "\n" + more
		}
	}
	return all
}

// forAll returns r without what users of other tenants must not see.
func (r *Result) forAll(d *spec.Declaration) *Result {
	who := account.Of(d.Settings.ServiceAccount)
	public := *r
	public.public = true
	public.ScriptErr = publicScript(d, r.ScriptErr)
	public.CacheError, public.AccessErr = publicCache(who, r.CacheError), publicDenial(who, r.AccessErr)
	if r.Denied.Err != nil {
		public.Denied.Err = &withheld{r.Denied.Err, denialOf(who, r.Denied.Err)}
	}
	public.Finalizers.First = object.Ref{}
	public.Warnings = publicWarnings(r)
	if r.GuardPassed != nil {
		passed := *r.GuardPassed
		passed.Message = passed.Counts
		public.GuardPassed = &passed
	}
	public.Shadow = publicShadow(d, r.Shadow)
	return &public
}

// A withheld is an error with another text.
type withheld struct {
	error
	text string
}

func (e *withheld) Error() string  { return e.text }
func (e *withheld) Detail() string { return e.text } // and not that of the error, see engine.DetailOf
func (e *withheld) Unwrap() error  { return e.error }

// textOf returns the text of an error of a script or a webhook.
func (r *Result) textOf(err error) string {
	if r.public {
		return failures.Kind(err)
	}
	return engine.DetailOf(err)
}

// publicScript returns an error of loading scripts. Whoever reads the status can read the scripts in the object itself, and its names of
// ConfigMaps, but not what is in the ConfigMaps.
func publicScript(d *spec.Declaration, err error) error {
	var source *scripts.Error
	switch {
	case err == nil:
		return nil
	case guard.Holds(err):
		return &withheld{err, guard.Counts(err)}
	case throttle.IsGivenUp(err):
		return &withheld{err, throttle.NotTriedAgain}
	case !d.UsesConfigMaps(), errors.As(err, &source) && source.Err != nil: // the ConfigMap cannot be read
		return err
	case source != nil:
		return &withheld{err, fmt.Sprintf("a source of the scripts cannot be used (%s)", source.Reason)}
	}
	return &withheld{err, failures.Kind(err)}
}

// publicCache returns an error of caches.
func publicCache(who account.Account, err error) error {
	if err == nil || kube.Forbidden(err) != nil {
		return publicDenial(who, err)
	}
	return &withheld{err, failures.Kind(err)}
}

// publicDenial returns an error that may be the lack of a permission.
func publicDenial(who account.Account, err error) error {
	if kube.Forbidden(err) == nil {
		return err
	}
	return &withheld{err, denialOf(who, err)}
}

// resourceName matches the names of resources, with a subresource.
var resourceName = regexp.MustCompile(`^[a-z0-9.-]+(/[a-z]+)?$`)

// denialOf says which permission is missing. It names the namespace, and the command that grants the permission, if that is the namespace
// of the account, or all namespaces.
func denialOf(who account.Account, err error) string {
	var denied *access.DeniedError
	var refused *kube.RefusedError
	own := func(namespace string) bool { return namespace == "" || namespace == who.Namespace }
	switch {
	case errors.As(err, &denied) && (denied.Missing || denied.Scope.Name == "" && own(denied.Scope.Namespace)):
		return denied.Error()
	case errors.As(err, &denied):
		return fmt.Sprintf("%s may not %s some %s", who, strings.Join(denied.Verbs, " and "), denied.GroupResource)
	case errors.As(err, &refused) && resourceName.MatchString(refused.Missing.Resource):
		return refusalOf(who, refused.Missing, own(refused.Missing.Namespace))
	}
	return failures.Kind(err)
}

func refusalOf(who account.Account, p account.Permission, own bool) string {
	text := fmt.Sprintf("User %q cannot %s resource %q", p.User, strings.Join(p.Verbs, ","), p.Resource)
	if own && (p.Name == "" || p.Name == who.Name) { // the name is that of the account if the server may not act as it
		text += "; to permit it, run: " + p.Command()
	}
	return text
}

// publicWarnings returns the warnings that are shown, and the number of the others.
func publicWarnings(r *Result) []string {
	var all []string
	for _, warning := range r.Warnings {
		if !slices.Contains(r.Unshown, warning) {
			all = append(all, warning)
		}
	}
	if n := len(r.Warnings) - len(all); n > 0 {
		all = append(all, fmt.Sprintf("warnings about parents or scripts: %d", n))
	}
	return all
}

// publicShadow returns a report without the parents that it names.
func publicShadow(d *spec.Declaration, s *shadow.Report) *shadow.Report {
	if s == nil {
		return nil
	}
	public := *s
	public.Err = publicScript(d, s.Err)
	if s.Stopped != nil {
		public.Stopped = &withheld{s.Stopped, failures.Kind(s.Stopped)}
	}
	if s.First != nil {
		public.First = &shadow.Difference{Result: s.First.Result}
	}
	if s.Left != nil {
		public.Left = &shadow.Left{}
	}
	return &public
}
