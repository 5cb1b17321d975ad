package kube

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Warnings collects the warnings of the API server about the requests of one context. It is safe for concurrent use.
type Warnings struct {
	mu    sync.Mutex // guards texts
	texts []string
}

type warningsKey struct{}

// CollectWarnings returns a context whose requests add their warnings to the Warnings, if the client has a [WarningHandler].
func CollectWarnings(ctx context.Context) (context.Context, *Warnings) {
	w := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, w), w
}

// Texts returns the warnings, without duplicates.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

func (w *Warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// A WarningHandler gives the warnings of the API server to the Warnings of the context, or, if it has none, to Next.
type WarningHandler struct {
	Next rest.WarningHandlerWithContext
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h WarningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	const forPeople = 299
	if w, collects := ctx.Value(warningsKey{}).(*Warnings); collects {
		if code == forPeople && text != "" {
			w.add(text)
		}
		return
	}
	h.Next.HandleWarningHeaderWithContext(ctx, code, agent, text)
}

// unknownField matches the warning that the API server does not know a field, and drops it.
var unknownField = regexp.MustCompile(`^unknown field ("(?:[^"\\]|\\.)*")$`)

// UnknownFields returns the paths of the fields that the API server does not know according to its warnings.
func UnknownFields(warnings []string) []string {
	var fields []string
	for _, text := range warnings {
		if match := unknownField.FindStringSubmatch(text); match != nil {
			if field, err := strconv.Unquote(match[1]); err == nil {
				fields = append(fields, field)
			}
		}
	}
	return fields
}

// undeclaredField matches a field that server-side apply refuses, since the API server does not know it.
var undeclaredField = regexp.MustCompile(`(\.\S+): field not declared in schema`)

// undeclared adds the fields to an error that says that the API server does not know them. It returns other errors unchanged.
func undeclared(err error) error {
	if err == nil {
		return nil
	}
	var fields []string
	for _, match := range undeclaredField.FindAllStringSubmatch(err.Error(), -1) {
		fields = append(fields, strings.TrimPrefix(match[1], "."))
	}
	if len(fields) == 0 {
		return err
	}
	return fmt.Errorf("the API server does not know %s, is it misspelled? %w", strings.Join(fields, ", "), err)
}
