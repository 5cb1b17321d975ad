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
		Long: `Run the controllers in files against a cluster, as the server would, and show what they change for each parent: a diff
of what is created, changed and deleted, what the script prints, and where it fails. When you save the file of a controller
or of a script below --scripts-dir, the new version is used. If it cannot be read or compiled, the error is printed, and
the previous version keeps running.

Parents and children are read from the cluster. The controller objects are read only from the files. They are not written
to the cluster; the command prints the errors and warnings that would be in their status. CustomResourceDefinitions in the
files are not applied.

With --dry-run nothing is written. Each write is sent to the API server as a dry run, so that you see its errors and what
it would store.

The command finds the cluster by --kubeconfig, the environment variable KUBECONFIG, ~/.kube/config, or the service account
of its Pod, in this order. Ctrl-C stops it.`,
		Example: `  metascript dev -f examples/immortalcontainer/controller.yaml --dry-run
  metascript dev --scripts-dir scripts -f controller.yaml --namespace playground`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSession(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or directories with the controllers; "-" is standard input`)
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
