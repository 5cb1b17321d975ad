package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"metascript/controller"
	"metascript/controller/object"
)

func gcCommand() *cobra.Command {
	var kubeconfig string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Take finalizers of deleted controllers off the objects that still have them",
		Long: `Take the finalizers of CompositeControllers and DecoratorControllers that do not exist off every object that has one.

The server does so a minute after a controller is deleted. This is for deletions that no server watched: objects that
wait for a controller that is no more never go. Finalizers of controllers that exist stay.

It finds the cluster by --kubeconfig, the KUBECONFIG variable, ~/.kube/config, or the Pod that it runs in, in this
order. It looks at all objects that it may list; where it may not, it says so, does the rest, and exits with 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return collect(cmd, kubeconfig, dryRun) },
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "path of a kubeconfig file")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list what would be done")
	return cmd
}

func collect(cmd *cobra.Command, kubeconfig string, dryRun bool) error {
	config, err := findCluster(kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // all kinds are listed, those of old too
	collector, err := controller.NewCollector(config)
	if err != nil {
		return err
	}
	did := "took"
	if dryRun {
		did = "would take"
	}
	collector.DryRun = dryRun
	collector.Tell = func(o *object.Object, finalizer, by string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s off: there is no %s\n", object.Describe(o), did, finalizer, by)
	}
	found, err := collector.Run(cmd.Context())
	fmt.Fprintf(cmd.OutOrStdout(), "%s %d off, kept %d of controllers that exist, failed %d\n", did, found.Taken, found.Kept, found.Failed)
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), err)
		return errors.New("not all finalizers could be looked at, or taken off")
	}
	return nil
}
