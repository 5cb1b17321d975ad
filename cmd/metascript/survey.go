package main

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/redact"
)

// A survey finds out what a cluster has of what is in an author's files. Where it may not look it says nothing.
type survey struct {
	client     dynamic.Interface
	host       string
	kubeconfig string // the flag
}

// patience is how long the API server may take to answer for the first time.
const patience = 10 * time.Second

// newSurvey makes sure that there is a cluster.
func newSurvey(config *rest.Config, kubeconfig string) (*survey, error) {
	impatient := rest.CopyConfig(config)
	impatient.Timeout = patience
	asks, err := discovery.NewDiscoveryClientForConfig(impatient)
	if err == nil {
		_, err = asks.ServerVersion()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster at %s: %w", config.Host, err)
	}
	client, err := dynamic.NewForConfig(impatient)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster at %s: %w", config.Host, err)
	}
	return &survey{client, config.Host, kubeconfig}, nil
}

// missing says which definitions have to be applied, and how.
func (s *survey) missing(ctx context.Context, docs []document) []string {
	var warnings []string
	for _, doc := range docs {
		if doc.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if _, absent := s.look(ctx, apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), doc.GetName()); absent {
			warnings = append(warnings, fmt.Sprintf("%s is not in the cluster; apply it: kubectl apply%s -f %s", object.Describe(doc.Object), s.flag(), doc.file))
		}
	}
	return warnings
}

// flag is what kubectl must be told to find the same cluster.
func (s *survey) flag() string {
	if s.kubeconfig == "" {
		return ""
	}
	return " --kubeconfig " + s.kubeconfig
}

// rivals says which controllers are in the cluster too, where its server works for them, unless they are paused.
func (s *survey) rivals(ctx context.Context, docs []document, dryRun bool) []string {
	resources := map[string]schema.GroupVersionResource{
		v1alpha1.KindCompositeController: v1alpha1.CompositeControllers,
		v1alpha1.KindDecoratorController: v1alpha1.DecoratorControllers,
	}
	var warnings []string
	for _, doc := range controllers(docs) {
		there, _ := s.look(ctx, resources[doc.GetKind()], doc.GetName())
		if there == nil || paused(there) {
			continue
		}
		text := fmt.Sprintf("%s is in the cluster too", object.Describe(doc.Object))
		if !dryRun {
			text += fmt.Sprintf(", whose server undoes what this one does; pause it there: kubectl patch%s %s %s --type=merge -p '{\"spec\":{\"paused\":true}}'",
				s.flag(), resources[doc.GetKind()].Resource, doc.GetName())
		}
		warnings = append(warnings, text)
	}
	return warnings
}

func paused(o *object.Object) bool {
	spec, _ := o.Object["spec"].(map[string]any)
	return spec["paused"] == true
}

// look gives an object, if it can be read; else whether it is certain that there is none.
func (s *survey) look(ctx context.Context, resource schema.GroupVersionResource, name string) (there *object.Object, absent bool) {
	o, err := s.client.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, apierrors.IsNotFound(err)
	}
	return o, false
}

// warnings tells what the API server warns of, such as a field that it does not know.
type warnings struct{ tell *teller }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code == 299 && text != "" {
		text = redact.In(ctx).Text(text)
		w.tell.sayOnce("API server: "+text, w.tell.paint.warning("the API server warns: "+text))
	}
}
