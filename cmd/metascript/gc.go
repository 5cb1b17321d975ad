package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/controller/finalizers"
	"metascript/controller/object"
)

// gcFlags are the flags of the command gc.
type gcFlags struct {
	kubeconfig string
	dryRun     bool
}

// gcCommand returns the command gc. It is for a person who removes the server from a cluster, or who finds objects that are not
// deleted.
func gcCommand() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove finalizers of deleted controllers from the objects that still have them",
		Long: `Remove the finalizers of CompositeControllers and DecoratorControllers that do not exist any more from all objects.

The server removes them one minute after a controller is deleted. Use this command if a controller was deleted while no
server ran: an object with the finalizer of a deleted controller is never deleted. Finalizers of existing controllers
stay.

The command finds the cluster by --kubeconfig, the environment variable KUBECONFIG, ~/.kube/config, or the service account
of its Pod, in this order. If it is not permitted to list a resource, it prints an error, continues with the other
resources, and exits with 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return collectFinalizers(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig file")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "write nothing, and list the finalizers that would be removed")
	return cmd
}

// collectFinalizers prints each finalizer that is removed, and then how many there were. After an error about an object it continues
// with the others; it prints the errors last.
func collectFinalizers(cmd *cobra.Command, f *gcFlags) error {
	config, err := kubeconfig.Load(f.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // all kinds are listed, deprecated ones too
	collector, err := finalizers.NewCollector(config)
	if err != nil {
		return err
	}
	verb := "removed"
	if f.dryRun {
		verb = "would remove"
	}
	collector.DryRun = f.dryRun
	collector.OnRemoved = func(o *object.Object, finalizer, by string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s: there is no %s\n", object.Describe(o), verb, finalizer, by)
	}
	found, err := collector.Run(cmd.Context())
	fmt.Fprintf(cmd.OutOrStdout(), "%s %d, kept %d of controllers that exist, failed %d\n", verb, found.Removed, found.Kept, found.Failed)
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), err)
		return errors.New("some finalizers could not be read or removed")
	}
	return nil
}
