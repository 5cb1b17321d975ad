package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"metascript/controller"
	"metascript/controller/object"
	"metascript/scripts"
)

type devFlags struct {
	files             []string
	kubeconfig        string
	dryRun            bool
	parent, namespace string
	unsaid            unsaidFlags
	log               logFlags
	sandbox           sandboxFlags
}

func devCommand() *cobra.Command {
	var f devFlags
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
	f.unsaid.register(flags)
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
	survey, err := newSurvey(options.Config, f.kubeconfig)
	if err != nil {
		return err
	}
	d := &desk{files: files, tell: tell, given: options.Given, survey: survey}
	return d.work(cmd.Context(), server, first, docs)
}

// options are the controllers', but for their sandbox and log.
func (f *devFlags) options(config *rest.Config, tell *teller) controller.Options {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = "metacontroller", -1
	config.WarningHandlerWithContext = warnings{tell}
	options := controller.Options{
		Config: config, Workers: runtime.GOMAXPROCS(0),
		Given: &controller.Given{Told: tell.status}, Only: f.only(), Observer: tell, DryRun: f.dryRun,
	}
	f.unsaid.apply(&options)
	return options
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
