package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/changeplan"
	"metascript/cmd/metascript/internal/devsession"
	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/logging"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/report"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller"
	"metascript/scripts"
)

// planFlags are the flags of the command plan. Flags that dev has too have the same meaning.
type planFlags struct {
	files                       []string
	cluster                     kubeconfig.Flags
	parent, namespace, selector string
	against                     flagvalue.Choice
	liveFolders                 []string
	serverNamespace             string
	qps                         int
	all                         bool
	format                      output.Format
	defaults                    serverflags.SpecDefaults
	log                         logging.Flags
	sandbox                     sandbox.Flags
}

// planCommand returns the command plan: what an edit of controllers would change in a cluster.
func planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:        "plan -f controller.yaml",
		SuggestFor: []string{"diff", "preview"},
		Short:      "Show what the controllers in files would change in a cluster",
		Long: `Show what the controllers in files would change in a cluster, for all their parents. Nothing is written: the command runs
the controllers as the server would, and sends each write to the API server as a dry run.

It shows the changes that are alike together, with one example: what is created, updated, deleted, and deleted to be created
again, and for how many parents. For a rolling update it shows all children that will change, and which is the first. The
summary has the sums, and what the changes restart: Pods that are created again, and Pod templates that change.

With --against live it plans the controller in the cluster too, and shows only the differences between both versions: what
the edit changes, and not what is different anyway. Scripts of that controller in files are read from --live-scripts-dir, a
copy of the directory of the server.

A plan is the first reconcile of each parent. If a hook waits for children before it returns others, later reconciles do
more. Webhooks are called. A plan sends at most 8 writes at the same time, and --qps requests per second.

The exit code is 0 if nothing would change, 2 if something would, and 1 if there is an error: if a controller does not run,
if a parent fails, or if the plan was interrupted.`,
		Example: `  metascript plan -f controller.yaml
  metascript plan -f controllers --against live
  metascript plan -f controller.yaml --namespace shop --selector tier=gold --all
  metascript plan -f controller.yaml -o json`,
		Args:        arguments.None,
		Annotations: map[string]string{invalidArgumentsFail: "true"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runPlan(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or directories with the controllers; "-" is standard input`)
	f.cluster.Register(flags)
	flags.StringVar(&f.parent, "parent", "", "only the parents with this name")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "only the parents in this namespace")
	flags.StringVarP(&f.selector, "selector", "l", "", "only the parents whose labels match, such as tier=gold")
	f.against = flagvalue.OneOf(changeplan.AgainstCluster, changeplan.AgainstLive)
	flags.Var(&f.against, "against", "what to compare with: "+f.against.Words()+"; with live only what the controller in the cluster would not do too")
	flags.StringSliceVar(&f.liveFolders, "live-scripts-dir", nil, "directories with the scripts of the controllers in the cluster, for --against live")
	flags.StringVar(&f.serverNamespace, "server-namespace", "metacontroller", "namespace of the server, where the scripts of older revisions of parents and the key of random values are stored")
	flags.IntVar(&f.qps, "qps", 200, "maximum number of requests to the API server per second")
	flags.BoolVar(&f.all, "all", false, "show each change, and not only an example of those that are alike")
	f.format.Register(flags)
	f.defaults.Register(flags)
	f.sandbox.Register(flags)
	f.log.Register(flags)
	f.log.DefaultToErrors() // the plan has everything else
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// errChanges ends the command with exit code 2.
var errChanges = exitCode(2)

// runPlan reads the files first: most errors are in the files, and reading them needs no cluster.
func runPlan(cmd *cobra.Command, f *planFlags) error {
	log := f.log.Open(cmd.ErrOrStderr())
	files, err := devsession.OpenFiles(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	selected, err := labels.Parse(f.selector)
	if err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	live := f.against.String() == changeplan.AgainstLive
	switch {
	case f.qps <= 0:
		return errors.New("--qps must be above 0")
	case len(f.liveFolders) > 0 && !live:
		return errors.New("--live-scripts-dir has an effect only with --against live")
	}
	if err := manifest.CheckScriptsDirs(f.liveFolders); err != nil {
		return err
	}
	cluster, err := f.cluster.Load()
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.Open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	options := devsession.PlanOptions{
		Kubectl: f.cluster.KubectlFlags(), Parent: f.parent, Namespace: f.namespace, Labels: selected, Folders: f.sandbox.Folders, QPS: f.qps, All: f.all || !f.format.IsText(),
		Progress: report.New(cmd.ErrOrStderr(), true), Live: live,
		Server: controller.Options{
			Config: cluster.Config, Kubeconfig: cluster.File, Log: log, Sandbox: sandbox.Sandbox, Namespace: f.serverNamespace,
			Folders: scripts.NewFolders(manifest.ScriptFolders(f.sandbox.Folders, files.Documents()), log),
		},
	}
	if len(f.liveFolders) > 0 {
		options.LiveFolders = scripts.NewFolders(f.liveFolders, log)
	}
	f.defaults.Apply(&options.Server)
	options.Progress.Print(fmt.Sprintf("plan for context %s, API server %s", cmp.Or(cluster.Context, "(none)"), cluster.Config.Host))
	planning, err := devsession.NewPlanning(files, options)
	if err != nil {
		return cluster.Explain(err)
	}
	plan, err := planning.Run(cmd.Context())
	if err != nil {
		return err
	}
	return f.print(cmd.OutOrStdout(), plan)
}

// print prints a plan. It returns an error for the exit code of the command.
func (f *planFlags) print(out io.Writer, plan *changeplan.Document) error {
	if !f.format.IsText() {
		if err := f.format.Print(out, plan); err != nil {
			return err
		}
	} else if _, err := io.WriteString(out, plan.Text(style.For(out), f.all)); err != nil {
		return err
	}
	if problem := plan.Problem(); problem != "" {
		return errors.New(problem)
	}
	if plan.Changes() {
		return errChanges
	}
	return nil
}
