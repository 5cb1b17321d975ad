package devsession

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

	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/shell"
)

// A cluster compares the files of an author with the objects of the same names in the cluster, and warns of differences that the
// author may not expect. If it has no permission to read an object, there is no warning: an author need not have the permission to
// read controllers.
type cluster struct {
	client  dynamic.Interface
	host    string
	kubectl string // the flags of the kubectl commands in warnings, with a space before each
}

// connectTimeout is the timeout of each request.
const connectTimeout = 10 * time.Second

// connect returns the cluster of config, or an error if the API server does not respond.
func connect(config *rest.Config, kubectl string) (*cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = connectTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err == nil {
		_, err = client.ServerVersion()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster at %s: %w", config.Host, err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster at %s: %w", config.Host, err)
	}
	return &cluster{objects, config.Host, kubectl}, nil
}

// crdResource is the resource of CustomResourceDefinitions.
var crdResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// missingDefinitions returns warnings about definitions that are in the files and not in the cluster.
func (c *cluster) missingDefinitions(ctx context.Context, docs []manifest.Document) []string {
	var warnings []string
	for _, doc := range docs {
		if doc.GetKind() != manifest.KindCRD {
			continue
		}
		if _, absent := c.get(ctx, crdResource, doc.GetName()); absent {
			warnings = append(warnings, fmt.Sprintf("%s is not in the cluster; apply it: kubectl apply%s -f %s", object.Describe(doc.Object), c.kubectl, shell.Quote(doc.File)))
		}
	}
	return warnings
}

// controllerResources are the resources of controllers, by their kind.
var controllerResources = map[string]schema.GroupVersionResource{
	v1alpha1.KindCompositeController: v1alpha1.CompositeControllers,
	v1alpha1.KindDecoratorController: v1alpha1.DecoratorControllers,
}

// runningControllers returns warnings about controllers that are in the files and in the cluster, unless they are paused in the
// cluster: two servers reconcile their parents.
func (c *cluster) runningControllers(ctx context.Context, docs []manifest.Document, dryRun bool) []string {
	var warnings []string
	for _, doc := range manifest.Controllers(docs) {
		resource := controllerResources[doc.GetKind()]
		stored, _ := c.get(ctx, resource, doc.GetName())
		if stored == nil || paused(stored) {
			continue
		}
		text := fmt.Sprintf("%s is in the cluster too", object.Describe(doc.Object))
		if !dryRun {
			text += fmt.Sprintf(", whose server reverts what this one does; pause it there: kubectl patch%s %s %s --type=merge -p '{\"spec\":{\"paused\":true}}'",
				c.kubectl, resource.Resource, shell.Quote(doc.GetName()))
		}
		warnings = append(warnings, text)
	}
	return warnings
}

// paused reports whether spec.paused of a controller is set.
func paused(controller *object.Object) bool {
	spec, _ := controller.Map()["spec"].(map[string]any)
	return spec["paused"] == true
}

// get returns an object, or nil if it cannot be read. absent is true only if it is certain that the object does not exist.
func (c *cluster) get(ctx context.Context, resource schema.GroupVersionResource, name string) (o *object.Object, absent bool) {
	o, err := object.Result(c.client.Resource(resource).Get(ctx, name, metav1.GetOptions{}))
	if err != nil {
		return nil, apierrors.IsNotFound(err)
	}
	return o, false
}
