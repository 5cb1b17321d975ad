package redact

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Withholding gives a Redactor for writes that come before the Secrets are read that the API server may quote: its errors
// give the reason and the fields of what the API server answers, and not its words. Words without any value stay: those about
// permissions, conflicts and names.
func Withholding() *Redactor {
	r := New()
	r.withholds = true
	return r
}

// unread is why the words of the API server are not shown.
const unread = "what the API server says is not shown, since it may quote Secrets that are not read yet"

// withheld is err without the words of the API server.
func withheld(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Message == "" || hasNoValue(answer.Status()) {
		return err
	}
	said := answer.Status()
	pairs, fields := []string{said.Message, ""}, []string(nil)
	if said.Details != nil {
		for _, cause := range said.Details.Causes {
			if cause.Field != "" {
				fields = append(fields, cause.Field)
			}
			if cause.Message != "" {
				pairs = append(pairs, cause.Message, unread)
			}
		}
	}
	pairs[1] = strings.Join(append([]string{string(said.Reason)}, fields...), " ") + fmt.Sprintf(" (%d): %s", said.Code, unread)
	text := strings.NewReplacer(pairs...).Replace
	return (&cleaner{text, text}).error(err)
}

// notPermitted is how the API server says that a user lacks a permission.
var notPermitted = regexp.MustCompile(`^[a-z0-9.-]+ (?:"[^"]*" )?is forbidden: User "[^"]*" cannot `)

// hasNoValue reports whether the API server made its words of names alone.
func hasNoValue(said metav1.Status) bool {
	if strings.Contains(said.Message, "admission webhook") {
		return false
	}
	switch said.Reason {
	case metav1.StatusReasonConflict, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists:
		return true
	case metav1.StatusReasonForbidden:
		return notPermitted.MatchString(said.Message)
	}
	return false
}

// withhold passes on that something was logged: what client-go logs at this level has the words of the API server.
func (h *handler) withhold(ctx context.Context, record slog.Record) error {
	return h.Handler.Handle(ctx, slog.NewRecord(record.Time, record.Level, unread, record.PC))
}
