package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"metascript/controller"
	"metascript/controller/api/validation"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/engine"
	"metascript/scripts"
)

// A question is what a hook is asked offline.
type question struct {
	controller, parent document
	children, related  []document
	definitions        []*apiextensionsv1.CustomResourceDefinition
	finalizing         bool
	now                string // RFC 3339; the clock when empty
	sources            scripts.Sources
}

// ask asks it. What the script prints goes to log. It completes the question's objects.
func (q *question) ask(ctx context.Context, sandbox controller.Sandbox, log io.Writer) (*hook.Response, error) {
	given := slices.Concat([]document{q.parent}, q.children, q.related)
	if err := setDefaults(q.definitions, given); err != nil {
		return nil, err
	}
	trial := &controller.Trial{
		Controller: q.controller.Object, Parent: q.parent.Object, Finalizing: q.finalizing,
		Resources: &kube.Offline{Definitions: q.definitions}, Sandbox: sandbox, Sources: q.sources,
		Log: func(name string, m engine.Message) {
			fmt.Fprintf(log, "%s: %s: in %s: %s\n", m.Pos, m.Level, name, m.Text)
		},
	}
	for _, doc := range given {
		trial.Resources.Seen = append(trial.Resources.Seen, doc.GroupVersionKind())
	}
	for _, child := range q.children {
		trial.Children = append(trial.Children, child.Object)
	}
	for _, o := range q.related {
		trial.Related = append(trial.Related, o.Object)
	}
	if q.now != "" {
		now, err := time.Parse(time.RFC3339, q.now)
		if err != nil {
			return nil, fmt.Errorf("now is %q: want a time such as 2026-01-02T15:04:05Z", q.now)
		}
		trial.Now = now
	}
	return trial.Run(ctx)
}

// setDefaults completes objects as the API server would, by the definitions that are given.
func setDefaults(defs []*apiextensionsv1.CustomResourceDefinition, docs []document) error {
	for _, crd := range defs {
		validator, err := validation.New(crd)
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
		}
		for _, doc := range docs {
			if kind := doc.GroupVersionKind(); kind.Group != crd.Spec.Group || kind.Kind != crd.Spec.Names.Kind {
				continue
			}
			if doc.Object.Object, err = validator.Default(doc.Object.Object); err != nil {
				return fmt.Errorf("%s: %s: %w", doc.file, object.Describe(doc.Object), err)
			}
		}
	}
	return nil
}
