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

// Withholding returns a Redactor for writes before the Secrets were read that the API server may quote. Errors of the API
// server then have only the reason and the fields, and not the message. Messages that contain no values are kept: about
// permissions, conflicts and names.
func Withholding() *Redactor {
	r := New()
	r.withholds = true
	return r
}

// unread says why a message of the API server is not shown.
const unread = "the message of the API server is not shown, since it may contain values of Secrets that are not read yet"

// withheld returns err without the message of the API server.
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

// notPermitted matches a message of the API server about a missing permission.
var notPermitted = regexp.MustCompile(`^[a-z0-9.-]+ (?:"[^"]*" )?is forbidden: User "[^"]*" cannot `)

// hasNoValue reports whether the message of the API server contains only names.
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

// withhold passes a log record on without its message and attributes, since client-go logs messages of the API server at
// this level.
func (h *handler) withhold(ctx context.Context, record slog.Record) error {
	return h.Handler.Handle(ctx, slog.NewRecord(record.Time, record.Level, unread, record.PC))
}
