package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/output"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/finalizers"
	"metascript/controller/object"
)

// gcFlags are the flags of the command gc.
type gcFlags struct {
	cluster   kubeconfig.Flags
	namespace string
	dryRun    bool
	ignored   ignoredGroups
	output    output.Format
}

// ignoredGroups are the API groups whose objects a command does not look at.
type ignoredGroups []string

func (g *ignoredGroups) register(flags *pflag.FlagSet) {
	flags.StringSliceVar((*[]string)(g), "ignore-group", nil, "do not look at objects of this API group, such as one whose API server is gone; they may keep finalizers. Can be repeated")
}

// check returns an error if a group has what the command is about.
func (g ignoredGroups) check() error {
	for _, group := range []string{v1alpha1.Group, "apiextensions.k8s.io"} {
		if slices.Contains(g, group) {
			return fmt.Errorf("--ignore-group %s: the command needs this group", group)
		}
	}
	return nil
}

// print says that objects were not looked at.
func (g ignoredGroups) print(cmd *cobra.Command) {
	if len(g) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "objects of these API groups were not looked at, and may have finalizers: %s\n", strings.Join(g, ", "))
	}
}

// A collected is the result of the command gc. Its JSON form is the output of "metascript gc -o json".
type collected struct {
	DryRun  bool               `json:"dryRun"`  // nothing was written
	Removed int                `json:"removed"` // in a dry run: how many would be removed
	Kept    int                `json:"kept"`    // of controllers that exist
	Google  int                `json:"google"`  // of those kept: of Google's Metacontroller
	Failed  int                `json:"failed"`
	Objects []removedFinalizer `json:"objects"` // from which a finalizer was removed
	Ignored []string           `json:"ignoredGroups,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// A removedFinalizer is a finalizer that was removed from an object.
type removedFinalizer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Finalizer  string `json:"finalizer"`
	Controller string `json:"controller"` // its kind and name; it does not exist
}

// gcCommand returns the command gc. It is for a person who removes the server from a cluster, or who finds objects that are not
// deleted.
func gcCommand() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove finalizers of deleted controllers from the objects that still have them",
		Long: `Remove from all objects the finalizers of CompositeControllers and DecoratorControllers that do not exist any more.

The server removes them one minute after a controller is deleted. Use this command if a controller was deleted while no
server ran: an object with the finalizer of a deleted controller cannot be deleted. Finalizers of existing controllers
stay. The command also knows the finalizers of Google's Metacontroller, before version 1.0, which begin with metacontroller.app/.

The command finds the cluster by --kubeconfig, the environment variable KUBECONFIG, ~/.kube/config, or the service account
of its Pod, in this order. If it is not permitted to list a resource, or an API group cannot be discovered, it prints an error,
continues with the other resources, and exits with 1. If what serves a group is gone for ever, use --ignore-group.

With --output json or yaml, the output is an object with the fields dryRun, removed, kept, google and failed (numbers of
finalizers), the list objects (apiVersion, kind, namespace, name, finalizer and controller), ignoredGroups, and error.`,
		Example: `  metascript gc --dry-run
  metascript gc --context staging -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return collectFinalizers(cmd, &f) },
	}
	f.cluster.Register(cmd.Flags())
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the objects; defaults to all, and to objects without a namespace too")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "write nothing, and list the finalizers that would be removed")
	f.ignored.register(cmd.Flags())
	f.output.Register(cmd.Flags())
	return cmd
}

// googleAdvice says what to do with finalizers that nothing but a server which is most often gone would remove.
const googleAdvice = "%d of those kept begin with metacontroller.app/: only Google's Metacontroller, before version 1.0, removes them, and it may still run these controllers. " +
	"If it does not, remove them yourself: see \"metascript docs metacontroller\"\n"

// collectFinalizers prints each finalizer that is removed, and then how many there were. After an error about an object it continues
// with the others; it prints the errors last.
func collectFinalizers(cmd *cobra.Command, f *gcFlags) error {
	if err := f.ignored.check(); err != nil {
		return err
	}
	cluster, err := f.cluster.Load()
	if err != nil {
		return err
	}
	config := cluster.Config
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // all kinds are listed, deprecated ones too
	collector, err := finalizers.NewCollector(config)
	if err != nil {
		return err
	}
	verb := "removed"
	if f.dryRun {
		verb = "would remove"
	}
	result := collected{DryRun: f.dryRun, Objects: []removedFinalizer{}, Ignored: f.ignored}
	collector.Namespace, collector.DryRun, collector.Ignored = f.namespace, f.dryRun, f.ignored
	collector.OnRemoved = func(o *object.Object, finalizer, by string) {
		result.Objects = append(result.Objects, removedFinalizer{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName(), finalizer, by})
		if f.output.IsText() {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s: there is no %s\n", object.Describe(o), verb, finalizer, by)
		}
	}
	found, failed := collector.Run(cmd.Context())
	result.Removed, result.Kept, result.Google, result.Failed = found.Removed, found.Kept, found.Google, found.Failed
	if result.Kept+result.Removed == 0 {
		failed = cluster.Explain(failed)
	}
	if failed != nil {
		result.Error = failed.Error()
	}
	if f.output.IsText() {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %d, kept %d of controllers that exist, failed %d\n", verb, found.Removed, found.Kept, found.Failed)
		if found.Google > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), googleAdvice, found.Google)
		}
	} else {
		err = f.output.Print(cmd.OutOrStdout(), result)
	}
	f.ignored.print(cmd)
	if failed != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), failed)
		return errors.New("some finalizers could not be read or removed")
	}
	return err
}
