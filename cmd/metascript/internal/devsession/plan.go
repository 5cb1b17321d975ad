package devsession

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"metascript/cmd/metascript/internal/changeplan"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// PlanOptions configure a [Planning].
type PlanOptions struct {
	Kubectl           string          // as in Options
	Parent, Namespace string          // as in Options
	Labels            labels.Selector // of the parents; nil selects all
	Folders           []string        // as in Options
	QPS               int             // the limit of requests per second
	All               bool            // show the differences of each change, and not only of examples
	Progress          *report.Reporter

	// Live plans the controllers in the cluster too. LiveFolders are the directories with their scripts in files; nil: there are none.
	Live        bool
	LiveFolders *scripts.Folders

	Server controller.Options // as in Options
}

// maxDryRuns is how many writes of a plan are sent at the same time, so that a plan leaves most of the API server to others.
const maxDryRuns = 8

// A Planning makes a plan of what the controllers in files would change. NewPlanning returns one.
type Planning struct {
	PlanOptions
	files   *Files
	cluster *cluster
}

// NewPlanning returns an error if the API server does not respond.
func NewPlanning(files *Files, o PlanOptions) (*Planning, error) {
	o.Server.Config = limited(o.Server.Config, o.QPS)
	o.Server.Config.WarningHandlerWithContext = apiWarnings{o.Progress}
	o.Server.DryRun, o.Server.Workers = true, maxDryRuns
	p := &Planning{PlanOptions: o, files: files}
	var err error
	p.cluster, err = connect(o.Server.Config, o.Kubectl)
	return p, err
}

// limited returns a config whose clients together send at most qps requests per second, and maxDryRuns writes at the same time.
func limited(config *rest.Config, qps int) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = float32(qps), qps
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	slots := make(chan struct{}, maxDryRuns)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limitedWrites{next, slots} })
	return config
}

// limitedWrites limits how many writes are sent at the same time.
type limitedWrites struct {
	http.RoundTripper
	slots chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (t limitedWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.RoundTripper.RoundTrip(r)
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
		return t.RoundTripper.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// WrappedRoundTripper returns the transport, so that client-go closes its connections.
func (t limitedWrites) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// Run makes the plan. If ctx is done before, it returns what is known by then. It returns an error if there is no plan.
func (p *Planning) Run(ctx context.Context) (*changeplan.Document, error) {
	docs := manifest.Controllers(p.files.docs)
	for i, doc := range docs {
		for _, other := range docs[:i] {
			if other.Object.GetName() == doc.Object.GetName() {
				return nil, fmt.Errorf("%s: %s and %s have the same name: plan them one after the other", doc.File, object.Describe(doc.Object), object.Describe(other.Object))
			}
		}
	}
	stored, err := p.stored(ctx, docs)
	if err != nil {
		return nil, err
	}
	for _, warning := range p.cluster.missingDefinitions(ctx, p.files.docs) {
		p.Progress.PrintNew(warning, p.Progress.Style.Warning(warning))
	}
	p.Progress.SetControllers(docs, manifest.ScriptSources(p.Folders, p.files.docs))
	versions := []*planner{newPlanner(p, p.Progress.Failure, p.Progress.Problem)}
	if p.Live {
		versions = append(versions, newPlanner(p, func(_ string, err error) string { return engine.DetailOf(err) }, report.Problem))
	}
	if err := p.plan(ctx, versions, [][]*object.Object{objectsOf(docs), stored}); err != nil {
		return nil, err
	}
	return p.document(docs, stored, versions)
}

func objectsOf(docs []manifest.Document) (all []*object.Object) {
	for _, doc := range docs {
		all = append(all, doc.Object)
	}
	return all
}

// stored returns the controllers in the cluster with the names of docs. Without Live those that cannot be read are left out.
func (p *Planning) stored(ctx context.Context, docs []manifest.Document) (all []*object.Object, err error) {
	for _, doc := range docs {
		name, resource := object.Describe(doc.Object), controllerResources[doc.GetKind()]
		o, err := object.Result(p.cluster.client.Resource(resource).Get(ctx, doc.GetName(), metav1.GetOptions{}))
		switch {
		case err == nil:
			all = append(all, o)
		case !p.Live:
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("%s is not in the cluster, so that there is no live version to compare with: plan it without --against live", name)
		default:
			return nil, fmt.Errorf("read the live version of %s: %w", name, err)
		}
		if err == nil && p.Live && p.LiveFolders == nil && manifest.NamesFile(o) {
			return nil, fmt.Errorf("the live version of %s has a script in a file, which only its server can read: copy the scripts directory of the server, and name the copy with --live-scripts-dir", name)
		}
	}
	return all, nil
}

// plan runs a server for each version until all parents are planned. The servers share the limits of requests.
func (p *Planning) plan(ctx context.Context, versions []*planner, objects [][]*object.Object) error {
	servers := make([]*controller.Server, len(versions))
	for i, version := range versions {
		options := p.Server
		if i > 0 {
			options.Folders = p.LiveFolders
		}
		var err error
		if servers[i], err = version.server(options, objects[i]); err != nil {
			return err
		}
	}
	running, ctx := errgroup.WithContext(ctx)
	for i, version := range versions {
		running.Go(func() error { return version.run(ctx, servers[i]) })
	}
	ended := make(chan error)
	go func() { ended <- running.Wait() }()
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			for i, version := range versions {
				which := []string{"", "live version: "}[i]
				p.Progress.PrintNew("progress "+which, which+version.progressText())
			}
		}
	}
}

// document returns the plan.
func (p *Planning) document(docs []manifest.Document, stored []*object.Object, versions []*planner) (*changeplan.Document, error) {
	plans, against := versions[0].plans(), changeplan.AgainstCluster
	if p.Live {
		against = changeplan.AgainstLive
		changeplan.Against(plans, versions[1].plans())
	}
	var controllers []changeplan.Controller
	for _, doc := range docs {
		c := changeplan.Controller{Kind: doc.GetKind(), Name: doc.GetName(), Notes: notes(doc.Object, stored)}
		c.Problem = versions[0].problem(spec.IDOf(doc.Object))
		if p.Live && c.Problem == "" {
			if problem := versions[1].problem(spec.IDOf(doc.Object)); problem != "" {
				c.Problem = "the live version does not run, so that there is nothing to compare with; plan it without --against live: " + problem
			}
		}
		controllers = append(controllers, c)
	}
	d := changeplan.New(against, controllers, plans, p.All)
	d.Complete = d.Complete && !slices.ContainsFunc(versions, (*planner).incomplete)
	if p.Parent != "" && len(plans) == 0 && d.Problem() == "" {
		return nil, fmt.Errorf("no parent is called %s%s", p.Parent, inNamespace(p.Namespace))
	}
	return d, nil
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// notes returns what a reader of the plan of a controller has to know.
func notes(o *object.Object, stored []*object.Object) (all []string) {
	if paused(o) {
		all = append(all, "spec.paused is set, so that nothing would be done")
	}
	if i := slices.IndexFunc(stored, func(s *object.Object) bool { return spec.IDOf(s) == spec.IDOf(o) }); i >= 0 && paused(stored[i]) && !paused(o) {
		all = append(all, "it is paused in the cluster; the file ends the pause, and then all of this is done")
	}
	if account, _ := o.Field("spec", "serviceAccount"); account != nil {
		all = append(all, "it is planned with your permissions, not with those of its service account")
	}
	if hooks, _ := o.Field("spec", "hooks"); hasWebhook(hooks) {
		all = append(all, "the plan calls its webhooks")
	}
	return all
}

// hasWebhook reports whether one of the hooks in spec.hooks has a webhook.
func hasWebhook(hooks any) bool {
	m, _ := hooks.(map[string]any)
	for _, hook := range m {
		if hook, _ := hook.(map[string]any); hook["webhook"] != nil {
			return true
		}
	}
	return false
}
