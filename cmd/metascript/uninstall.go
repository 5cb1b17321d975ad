package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/prompt"
	"metascript/cmd/metascript/internal/uninstall"
)

// uninstallFlags are the flags of the command uninstall.
type uninstallFlags struct {
	cluster    kubeconfig.Flags
	check, yes bool
	timeout    time.Duration
	ignored    ignoredGroups
	output     output.Format
}

// An uninstalled is the result of the command uninstall. Its JSON form is the output of "metascript uninstall -o json".
type uninstalled struct {
	Check           bool `json:"check"` // nothing was written: the lists say what would be left
	*uninstall.Left `json:",inline"`
	IgnoredGroups   []string `json:"ignoredGroups,omitempty"`
	Error           string   `json:"error,omitempty"`
}

// uninstallCommand returns the command uninstall. It is for a person who removes metascript or Metacontroller from a cluster.
func uninstallCommand() *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:        "uninstall",
		SuggestFor: []string{"remove", "delete"},
		Short:      "Remove from a cluster everything that would be left of the server",
		Long: `Remove from a cluster everything that would be left when you delete the server, and print the commands that then delete the
server. This is for all servers in the cluster together: they share their CustomResourceDefinitions. It works for Metacontroller
too, and also if the server is already deleted.

The command removes, in this order:
  1. all CompositeControllers and DecoratorControllers; a running server then stops working for them
  2. the finalizers of controllers from their parents; otherwise the parents could not be deleted any more
  3. the ConfigMaps with stored versions of scripts
  4. the CustomResourceDefinitions, and with them the ControllerRevisions

It deletes no parent and no child. Children keep their owner reference: they are deleted when you delete their parent. The finalize
functions are not called. If they should run, delete the parents first, and wait until they do not exist any more.

Save the controllers first if you need them again: kubectl get compositecontrollers,decoratorcontrollers -o yaml

With --check, the command writes nothing. It lists what would be left, and exits with 1 if there is anything to remove.

On a terminal, the command asks before it removes something. Without a terminal it needs --yes. You can interrupt it at any time, and
run it again. It needs permission to list the objects of all kinds, and removes nothing if an API group cannot be discovered: if what
serves a group is gone for ever, use --ignore-group. The command finds the cluster by --kubeconfig, the environment
variable KUBECONFIG, ~/.kube/config, or the service account of its Pod, in this order.

With --output json or yaml, the output is an object with the field check, the lists controllers, finalizers, storedScripts and
definitions, and the number controllerRevisions. They say what was removed, or with --check what would be left. The list withoutOwner
has objects that were children, and that no parent owns any more: they stay. byHand has the commands that delete the server.
ignoredGroups are the values of --ignore-group.`,
		Example: `  metascript uninstall --check
  metascript uninstall --context staging
  metascript uninstall --yes -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUninstall(cmd, &f) },
	}
	f.cluster.Register(cmd.Flags())
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing, and list what would be left without the server; exit with 1 if there is something to remove")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long the command may take")
	f.ignored.register(cmd.Flags())
	f.output.Register(cmd.Flags())
	return cmd
}

// runUninstall looks, asks, and removes.
func runUninstall(cmd *cobra.Command, f *uninstallFlags) error {
	if cmd.Flags().Changed("namespace") {
		return errors.New("uninstall is for the whole cluster, and cannot be limited by --namespace: metascript gc can")
	}
	cluster, err := f.cluster.Load()
	if err != nil {
		return err
	}
	if !f.check && !f.yes && (!f.output.IsText() || !prompt.Possible(cmd.InOrStdin())) {
		return errors.New("uninstall deletes all controllers: set --yes, or --check to write nothing")
	}
	config := cluster.Config
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // all kinds are listed, deprecated ones too
	if err := f.ignored.check(); err != nil {
		return err
	}
	u, err := uninstall.New(config, f.ignored)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	left, err := u.Look(ctx)
	if f.check || err != nil {
		return f.print(cmd, left, cluster.Explain(err))
	}
	if f.output.IsText() {
		fmt.Fprintf(cmd.OutOrStdout(), "context %s, API server %s\n", cmp.Or(cluster.Context, "(none)"), config.Host)
		u.Done = func(text string) { fmt.Fprintln(cmd.OutOrStdout(), text) }
	}
	if !f.yes && !left.Empty() {
		left.Print(cmd.OutOrStdout())
		if err := prompt.Confirm(cmd.InOrStdin(), cmd.OutOrStdout(), "Remove all of this?"); err != nil {
			return err
		}
	}
	removed, err := u.Run(ctx, left)
	return f.print(cmd, removed, err)
}

// print prints the result. failed is what went wrong; the result is what was found or removed until then.
func (f *uninstallFlags) print(cmd *cobra.Command, left *uninstall.Left, failed error) error {
	out := cmd.OutOrStdout()
	switch {
	case !f.output.IsText():
		result := uninstalled{Check: f.check, Left: left, IgnoredGroups: f.ignored}
		if failed != nil {
			result.Error = failed.Error()
		}
		if err := f.output.Print(out, result); err != nil {
			return err
		}
	case f.check && failed != nil && left.Empty(): // nothing is known
	case f.check:
		left.Print(out)
		left.PrintStays(out, f.cluster.KubectlFlags())
	case failed == nil:
		fmt.Fprintln(out, "nothing is left")
		left.PrintStays(out, f.cluster.KubectlFlags())
	}
	f.ignored.print(cmd)
	if failed != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), failed)
		return errors.New("not everything could be read or removed; run this command again when that is corrected")
	}
	if f.check && !left.Empty() {
		return errors.New("this would be left without the server: metascript uninstall removes it")
	}
	return nil
}
