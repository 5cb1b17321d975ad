package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/devsession"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/logging"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/prompt"
	"metascript/cmd/metascript/internal/recordfile"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/cmd/metascript/internal/version"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/recording"
	"metascript/scripts"
)

// devFlags are the flags of the command dev. Flags that the server has too have the same meaning.
type devFlags struct {
	files             []string
	cluster           kubeconfig.Flags
	dryRun, yes, once bool
	timeout           time.Duration
	parent, namespace string
	serverNamespace   string
	record            string
	force             bool
	defaults          serverflags.SpecDefaults
	log               logging.Flags
	sandbox           sandbox.Flags
}

// devCommand returns the command dev: a server for an author who edits files and sees at once what the controllers do.
func devCommand() *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:        "dev -f controller.yaml",
		SuggestFor: []string{"watch", "develop"},
		Short:      "Run the controllers in files against a cluster, and show what they change",
		Long: `Run the controllers in files against a cluster, as the server would, and show what they change for each parent: a diff
of what is created, changed and deleted, what the script prints, and where it fails. When you save the file of a controller
or of a script, the new version is used. If this version cannot be read or compiled, or if the API server would refuse it,
the error is printed, and the previous version keeps running. Scripts in files are read from --scripts-dir, or else from the
directory of the controller's file.

Parents and children are read from the cluster. The controller objects are read only from the files. They are not written
to the cluster; the command prints the errors and warnings that would be in their status. CustomResourceDefinitions in the
files are not applied.

With --dry-run nothing is written. Each write is sent to the API server as a dry run, so that you see its errors and what
it would store.

The command finds the cluster by --kubeconfig, the environment variable KUBECONFIG, ~/.kube/config, or the service account
of its Pod, in this order. It uses the current context of the file, or --context. It prints the context and the address
first, and asks before it writes to a cluster that is not local, unless --context names the context, or --yes or --dry-run
is set. If standard input is not a terminal, the command cannot ask, and fails.
` + kubeconfig.LocalRule + `

With --once the command ends when every parent was reconciled without a change, for example in CI. A dry run ends when
every parent was reconciled. The exit code is 1 if a controller does not run, if a parent fails 3 times in a row, if a parent
is changed in 20 reconciles in a row, or if the command does not end within --timeout.

With --record, the reconciles are recorded in a file, with the requests and the answers of all hooks, but without the values
of Secrets; see "metascript record".

Ctrl-C stops the command.`,
		Example: `  metascript dev -f controller.yaml --dry-run
  metascript dev -f examples/immortalcontainer/controller.yaml --dry-run
  metascript dev --scripts-dir scripts -f controller.yaml --namespace playground
  metascript dev -f controller.yaml --context staging
  metascript dev -f controller.yaml --once --yes`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSession(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or directories with the controllers; "-" is standard input`)
	f.cluster.Register(flags)
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing to the cluster, and show what would be written")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask before writing to a cluster that is not local")
	flags.BoolVar(&f.once, "once", false, "end when every parent was reconciled without a change")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long --once waits")
	flags.StringVar(&f.parent, "parent", "", "only the parents with this name")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "only the parents in this namespace")
	flags.StringVar(&f.serverNamespace, "server-namespace", "metacontroller", "namespace of the server, where the key of random values is stored")
	flags.StringVar(&f.record, "record", "", "record the reconciles in this file")
	flags.BoolVar(&f.force, "force", false, "replace the file of --record if it exists")
	f.defaults.Register(flags)
	f.sandbox.Register(flags)
	f.log.Register(flags)
	f.log.DefaultToErrors() // the session reports everything else
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// confirm prints the cluster, and asks whether to write to it if the user may not have meant it: it is not local, and was found only
// by the current context of a file, which another program may have changed.
func (f *devFlags) confirm(cmd *cobra.Command, cluster *kubeconfig.Cluster) error {
	fmt.Fprintf(cmd.OutOrStdout(), "context %s, API server %s\n", cmp.Or(cluster.Context, "(none)"), cluster.Config.Host)
	if f.dryRun || f.yes || f.cluster.Context != "" || cluster.Local() {
		return nil
	}
	if !prompt.Possible(cmd.InOrStdin()) || slices.Contains(f.files, "-") {
		return fmt.Errorf("the cluster at %s is not local, and dev writes to it: name its context with --context, or set --yes, or --dry-run to write nothing", cluster.Config.Host)
	}
	return prompt.Confirm(cmd.InOrStdin(), cmd.OutOrStdout(), "This cluster is not local. Run the controllers there?")
}

// runSession reads the files first: most errors are in the files, and reading them needs no cluster.
func runSession(cmd *cobra.Command, f *devFlags) error {
	log := f.log.Open(cmd.ErrOrStderr())
	files, err := devsession.OpenFiles(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("timeout") && !f.once:
		return errors.New("--timeout has an effect only with --once: add --once, or remove --timeout")
	case f.timeout <= 0:
		return errors.New("--timeout must be above 0")
	}
	cluster, err := f.cluster.Load()
	if err != nil {
		return err
	}
	if err := f.confirm(cmd, cluster); err != nil {
		return err
	}
	sandbox, err := f.sandbox.Open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	server := controller.Options{
		Config: cluster.Config, Kubeconfig: cluster.File, Log: log, Sandbox: sandbox.Sandbox, Namespace: f.serverNamespace,
		Folders: scripts.NewFolders(manifest.ScriptFolders(f.sandbox.Folders, files.Documents()), log),
	}
	f.defaults.Apply(&server)
	recorded, err := f.startRecording(&server)
	if err != nil {
		return err
	}
	session, err := devsession.New(files, devsession.Options{
		Kubectl: f.cluster.KubectlFlags(), DryRun: f.dryRun, Once: f.once, Parent: f.parent, Namespace: f.namespace, Folders: f.sandbox.Folders, Out: cmd.OutOrStdout(), Server: server,
	})
	if err != nil {
		recorded.discard()
		return cluster.Explain(err)
	}
	return recorded.during(cmd.Context(), session, func(ctx context.Context) error {
		if f.once {
			return session.RunOnce(ctx, f.timeout)
		}
		return session.Run(ctx)
	})
}

// A sessionRecording records a session. A nil one records nothing.
type sessionRecording struct {
	*recording.Recorder
	file    *recordfile.File
	session atomic.Pointer[devsession.Session]
}

// startRecording makes the file of --record, and adds a Sink to the options of the server. It returns nil without --record.
func (f *devFlags) startRecording(server *controller.Options) (*sessionRecording, error) {
	if f.record == "" {
		if f.force {
			return nil, errors.New("--force has an effect only with --record: name a file with --record, or remove --force")
		}
		return nil, nil
	}
	file, err := recordfile.Create(f.record, f.force)
	if err != nil {
		return nil, err
	}
	r := &sessionRecording{file: file}
	r.Recorder = recording.New(recording.Options{
		Program: version.Get().String(), Filter: recording.Filter{Namespace: f.namespace, Parent: f.parent},
		Secrets: func() []*object.Object { return r.session.Load().Secrets() },
	})
	server.Sinks = append(server.Sinks, r)
	return r, nil
}

// discard removes the file, since the session does not run.
func (r *sessionRecording) discard() {
	if r != nil {
		r.file.Discard()
	}
}

// during runs a session, and records until it has ended. The session runs on if the recording fails, such as on a disk that is full.
func (r *sessionRecording) during(ctx context.Context, session *devsession.Session, run func(context.Context) error) error {
	if r == nil {
		return run(ctx)
	}
	r.session.Store(session)
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done, err := r.Run(recording, r.file)
		var summary string
		if summary, failed = r.file.Finish(done, err); failed != nil {
			summary = failed.Error() // now, and not when the session ends
		}
		session.Print(summary)
	}()
	err := run(ctx)
	stop()
	<-ended
	return errors.Join(err, failed)
}
