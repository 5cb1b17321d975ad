package main

import (
	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/devsession"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/logging"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/controller"
	"metascript/scripts"
)

// devFlags are the flags of the command dev. Flags that the server has too have the same meaning.
type devFlags struct {
	files             []string
	kubeconfig        string
	dryRun            bool
	parent, namespace string
	defaults          serverflags.SpecDefaults
	log               logging.Flags
	sandbox           sandbox.Flags
}

// devCommand returns the command dev: a server for an author who edits files and sees at once what the controllers do.
func devCommand() *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev [--scripts-dir DIR] -f controller.yaml",
		Short: "Run the controllers in files against a cluster, and show what they change",
		Long: `Run the controllers in files against a cluster, as its server would, and show what they do to each parent's children: a
diff of what is created, changed and deleted, what the script prints, and where it fails. An edited file, the controller's
or one of a script below --scripts-dir, is used as soon as it is saved. If it cannot be read or compiled, the error is
printed, and the version before keeps running.

Parents and children are the cluster's. The controller objects are the files' alone: none is read from the cluster or
written there, and what their status would say is printed. CustomResourceDefinitions in the files are not applied.

With --dry-run nothing at all is written. The API server is asked what it would make of each write, so that its checks
and defaults are seen.

It finds the cluster by --kubeconfig, the KUBECONFIG variable, ~/.kube/config, or the Pod that it runs in, in this
order. Ctrl-C ends it.`,
		Example: `  metascript dev -f examples/immortalcontainer/controller.yaml --dry-run
  metascript dev --scripts-dir scripts -f controller.yaml --namespace playground`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSession(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or folders with the controllers; "-" is standard input`)
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig file")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing to the cluster, and show what would be written")
	flags.StringVar(&f.parent, "parent", "", "only the parents with this name")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "only the parents in this namespace")
	f.defaults.Register(flags)
	f.sandbox.Register(flags)
	f.log.Register(flags)
	f.log.DefaultToErrors() // the session reports everything else
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// runSession reads the files first: most errors are in the files, and reading them needs no cluster.
func runSession(cmd *cobra.Command, f *devFlags) error {
	log := f.log.Open(cmd.ErrOrStderr())
	files, err := devsession.OpenFiles(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	config, err := kubeconfig.Load(f.kubeconfig)
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.Open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	server := controller.Options{
		Config: config, Log: log, Sandbox: sandbox.Sandbox, Folders: scripts.NewFolders(f.sandbox.Folders, log),
	}
	f.defaults.Apply(&server)
	session, err := devsession.New(files, devsession.Options{
		Kubeconfig: f.kubeconfig, DryRun: f.dryRun, Parent: f.parent, Namespace: f.namespace, Out: cmd.OutOrStdout(), Server: server,
	})
	if err != nil {
		return err
	}
	return session.Run(cmd.Context())
}
