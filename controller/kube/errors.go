package kube

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/account"
	"metascript/engine"
)

// ErrRequeue is the error of a reconcile that found that an object had changed since it was read. This is not a failure: the
// reconcile is tried again with newer caches.
var ErrRequeue = errors.New("it changed meanwhile")

// Requeue returns an error that wraps both ErrRequeue and err, the error of a write to an object that was changed or deleted
// meanwhile.
func Requeue(err error) error { return fmt.Errorf("%w: %w", ErrRequeue, err) }

// Outdated reports whether err says that an object was deleted or changed since it was read.
func Outdated(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// Refused reports whether err says that the API server does not accept the content of an object. field is the first field that it
// names, such as spec.containers[0].image; "" if it names none.
func Refused(err error) (field string, refused bool) {
	if err == nil {
		return "", false
	}
	if match := undeclaredField.FindStringSubmatch(err.Error()); match != nil { // an internal error in some versions
		return strings.TrimPrefix(match[1], "."), true
	}
	var said apierrors.APIStatus
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !errors.As(err, &said) {
		return "", false
	}
	if details := said.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Field != "" {
				return cause.Field, true
			}
		}
	}
	return "", true
}

// NamespaceTerminating reports whether err says that an object cannot be created because its namespace is being deleted.
func NamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// permission matches why something is forbidden if a permission is missing: to do it, to grant what a role grants, or to be the owner.
var permission = regexp.MustCompile(`(?i)^(?:user "|cannot set (?:blockOwnerDeletion|an ownerRef))`)

// byAdmission reports whether the message is that of an admission plugin or webhook, such as an exceeded quota. Its status code is the
// same as that of a missing permission.
func byAdmission(message string) bool {
	_, why, isForbidden := strings.Cut(message, " is forbidden: ")
	return strings.HasPrefix(message, "admission webhook ") || isForbidden && !permission.MatchString(why)
}

// Forbidden returns the first error in err by which the API server says that a permission is missing, or nil.
func Forbidden(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case apierrors.APIStatus:
		if apierrors.IsForbidden(err) && !byAdmission(e.Status().Message) {
			return err
		}
		return nil
	case interface{ Unwrap() error }:
		return Forbidden(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if denied := Forbidden(one); denied != nil {
				return denied
			}
		}
	}
	return nil
}

// A RefusedError is the error of a request that the API server refused because a permission is missing, with the command that
// grants it.
type RefusedError struct {
	error                 // of the API server
	status  metav1.Status // of error
	Missing account.Permission
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v; to permit it, run: %s", e.error, e.Missing.Command())
}

func (e *RefusedError) Unwrap() error { return e.error }

// Status implements apierrors.APIStatus.
func (e *RefusedError) Status() metav1.Status { return e.status }

// Join joins the errors of several writes. It leaves out nil errors, and each [ErrRequeue] if there is any other error, so
// that it does not hide that one. Errors with the same cause become one error, which names the first object and counts the
// others. Of errors with more than maxJoined causes, the first ones are joined, and a last one counts the others.
func Join(failed ...error) error {
	others := slices.DeleteFunc(slices.Clone(failed), func(err error) bool { return err == nil || errors.Is(err, ErrRequeue) })
	if len(others) > 0 {
		return errors.Join(first(fold(others))...)
	}
	return errors.Join(failed...)
}

// maxJoined is how many errors of writes are joined: an answer with thousands of children can have as many errors.
const maxJoined = 20

// first returns the first maxJoined errors, and an error that counts the others. If the API server denied something, that is among them.
func first(failed []error) []error {
	more := len(failed) - maxJoined
	if more <= 0 {
		return failed
	}
	shown := slices.Clone(failed[:maxJoined])
	denies := func(err error) bool { return Forbidden(err) != nil }
	if at := slices.IndexFunc(failed, denies); at >= maxJoined {
		shown[maxJoined-1] = failed[at]
	}
	return append(shown, fmt.Errorf("and %d more errors", more))
}

// fold combines errors that have the same cause, such as a kind that is not permitted.
func fold(failed []error) []error {
	var folded []error
	same := map[string]*foldedError{}
	for _, err := range failed {
		cause := errors.Unwrap(err)
		if located, is := err.(*engine.Located); is {
			cause = errors.Unwrap(located.Err)
		}
		if cause == nil {
			folded = append(folded, err)
			continue
		}
		f := same[cause.Error()]
		if f == nil {
			f = &foldedError{error: err, cause: cause}
			same[cause.Error()] = f
			folded = append(folded, f)
			continue
		}
		f.more++
	}
	return folded
}

// A foldedError stands for several errors with one cause.
type foldedError struct {
	error // the first
	cause error
	more  int // how many others there are
}

func (e *foldedError) Unwrap() error { return e.error }

func (e *foldedError) Error() string {
	text := e.error.Error()
	what, ends := strings.CutSuffix(text, ": "+e.cause.Error())
	if e.more == 0 || !ends {
		return text
	}
	return fmt.Sprintf("%s and %d more: %v", what, e.more, e.cause)
}
