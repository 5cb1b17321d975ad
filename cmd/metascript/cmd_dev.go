package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"metascript/controller"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/scripts"
)

type devFlags struct {
	files             []string
	kubeconfig        string
	dryRun            bool
	parent, namespace string
	strategy          choice
	log               logFlags
	sandbox           sandboxFlags
}

func devCommand() *cobra.Command {
	f := devFlags{strategy: oneOf(dynamicApply, serverSideApply)}
	cmd := &cobra.Command{
		Use:   "dev [--scripts-dir DIR] -f controller.yaml",
		Short: "Run the controllers in files against a cluster, and show what they change",
		Long: `Run the controllers in files against a cluster, as its server would, and show what each parent leads to: a diff of
what is created, changed and deleted, what the script prints, and where it fails. A file that is saved, the controller's
or one of a script below --scripts-dir, is used at once; one that cannot be read or compiled is told, and what ran
before goes on.

Parents and children are the cluster's. The controller objects are the files' alone: none is read from the cluster or
written there, and what their status would say is printed. CustomResourceDefinitions in the files are not applied.

With --dry-run nothing at all is written. The API server is asked what it would make of each write, so that its checks
and defaults are seen.

It finds the cluster by --kubeconfig, the KUBECONFIG variable, ~/.kube/config, or the Pod that it runs in, in this
order. Ctrl-C ends it.`,
		Example: `  metascript dev -f examples/immortalcontainer/controller.yaml --dry-run
  metascript dev --scripts-dir scripts -f controller.yaml --namespace playground`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return develop(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or folders with the controllers; "-" is standard input`)
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig file")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing to the cluster: show what would be")
	flags.StringVar(&f.parent, "parent", "", "only the parents of this name")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "only the parents in this namespace")
	flags.Var(&f.strategy, "apply-strategy", "how objects are updated by controllers that do not say it themselves: "+f.strategy.words())
	f.sandbox.register(flags)
	f.log.register(flags)
	_ = f.log.level.Set("error") // the rest is told otherwise
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

func develop(cmd *cobra.Command, f devFlags) error {
	log := f.log.open(cmd.ErrOrStderr())
	files, err := newAuthored(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	first := files.draft()
	docs, err := first.documents()
	if err != nil {
		return fmt.Errorf("%w%s", err, nested(f.files))
	}
	config, err := findCluster(f.kubeconfig)
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.close()
	tell := newTeller(cmd.OutOrStdout(), f.dryRun)
	options := f.options(config, tell)
	options.Log, options.Sandbox, options.Folders = log, sandbox.Sandbox, scripts.NewFolders(f.sandbox.folders, log)
	server, err := controller.New(options)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(options.Config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	d := &desk{files: files, tell: tell, given: options.Given, survey: survey{client, f.kubeconfig}}
	d.greet(config.Host, docs)
	return d.work(cmd.Context(), server, first, docs)
}

// options are the controllers', but for their sandbox and log.
func (f *devFlags) options(config *rest.Config, tell *teller) controller.Options {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = "metacontroller", -1
	config.WarningHandler = warnings{tell}
	strategy := v1alpha1.DynamicApply
	if f.strategy.value == serverSideApply {
		strategy = v1alpha1.ServerSideApply
	}
	return controller.Options{
		Config: config, Workers: runtime.GOMAXPROCS(0), ApplyStrategy: strategy,
		Given: &controller.Given{Told: tell.status}, Only: f.only(), Observer: tell, DryRun: f.dryRun,
	}
}

// only says which parents are meant, or is nil for all.
func (f *devFlags) only() func(object.Ref) bool {
	if f.parent == "" && f.namespace == "" {
		return nil
	}
	return func(parent object.Ref) bool {
		return (f.parent == "" || f.parent == parent.Name) && (f.namespace == "" || f.namespace == parent.Namespace)
	}
}

// A desk is where an author works: what is edited goes to the server, and what comes of it is told.
type desk struct {
	files  *authored
	tell   *teller
	given  *controller.Given
	survey survey
}

func (d *desk) greet(host string, docs []document) {
	var names []string
	for _, doc := range controllers(docs) {
		names = append(names, object.Describe(doc.Object))
	}
	d.tell.say(fmt.Sprintf("%s in the cluster at %s", strings.Join(names, ", "), host))
	if d.tell.dryRun {
		d.tell.say("dry run: nothing is written to the cluster; what follows is what would be")
	}
}

// work runs the server until ctx is done or it fails.
func (d *desk) work(ctx context.Context, server *controller.Server, first draft, docs []document) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d.use(ctx, docs)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		d.files.follow(ctx, first, func(now draft) { d.reread(ctx, now) })
	}()
	err := server.Run(ctx)
	stop()
	<-followed
	d.tell.farewell()
	return err
}

// reread uses what the files hold now, if it can be read.
func (d *desk) reread(ctx context.Context, now draft) {
	docs, err := now.documents()
	if err != nil {
		d.tell.sayOnce("files", d.tell.paint.failure(err.Error()), "what was read before goes on")
		return
	}
	d.tell.sayOnce("files", "")
	d.use(ctx, docs)
}

// use gives the controllers to the server, after what there is to say of them.
func (d *desk) use(ctx context.Context, docs []document) {
	var objects []*object.Object
	for _, doc := range controllers(docs) {
		objects = append(objects, doc.Object)
		refused, err := refusals(doc)
		if err != nil {
			refused = []string{err.Error()}
		}
		d.tell.sayOnce(object.Describe(doc.Object)+" refused", d.tell.paint.warning(strings.Join(refused, "\n")))
	}
	for _, warning := range slices.Concat(d.survey.missing(ctx, docs), d.survey.rivals(ctx, docs, d.tell.dryRun)) {
		d.tell.sayOnce(warning, d.tell.paint.warning(warning))
	}
	d.given.Set(objects)
}
