package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/promote"
	"metascript/cmd/metascript/internal/prompt"
)

// promoteFlags are the flags of the command promote.
type promoteFlags struct {
	cluster kubeconfig.Flags
	yes     bool
	output  output.Format
}

// A promoted is the result of the command promote. Its JSON form is the output of "metascript promote -o json".
type promoted struct {
	Kind         string            `json:"kind"`
	Name         string            `json:"name"`
	ShadowAgrees promote.Condition `json:"shadowAgrees"` // before the promotion
	Kept         []string          `json:"kept"`         // settings of spec.script that stay
	ManagedBy    string            `json:"managedBy,omitempty"`
}

// promoteCommand returns the command promote.
func promoteCommand() *cobra.Command {
	var f promoteFlags
	cmd := &cobra.Command{
		Use:   "promote CONTROLLER",
		Short: "Make the candidate in spec.shadow of a controller its script",
		Long: `Make the candidate in spec.shadow of a controller its script: with one update, spec.shadow.script becomes spec.script, and
spec.shadow is removed. CONTROLLER is a name, or a kind and a name, such as decoratorcontroller/web.

The source of the candidate takes the place of the source in spec.script. The settings of spec.script that the candidate does not
set stay, such as timeout, limits, libraries and rollback: the candidate was compared with these settings too. The update fails
if the controller has changed since the command read it.

The command prints the condition ShadowAgrees of the controller. If it is not True, or if the candidate was not compared for all parents
of its share yet, the command asks on a terminal, and needs --yes without one. It needs the permission to get and to update the controller.

If a tool such as Argo CD, Flux, Helm or kubectl apply writes the controller from a file, make the same edit in the file. Otherwise
the tool undoes the promotion.

The command finds the cluster by --kubeconfig, the environment variable KUBECONFIG, ~/.kube/config, or the service account of its
Pod, in this order.

With --output json or yaml, the output is an object with the fields kind, name, shadowAgrees (status, reason and message, before the
update), kept (the settings that stay) and managedBy.`,
		Example: `  metascript promote website
  metascript promote decoratorcontroller/web --yes`,
		Args: cobra.MatchAll(arguments.Some("the name of a controller"), arguments.Optional),
		RunE: func(cmd *cobra.Command, args []string) error { return runPromote(cmd, args[0], &f) },
	}
	f.cluster.Register(cmd.Flags())
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	f.output.Register(cmd.Flags())
	return cmd
}

// runPromote reads the controller, says what it does, asks if the answers of the candidate are not known to be the same, and writes.
func runPromote(cmd *cobra.Command, name string, f *promoteFlags) error {
	cluster, err := f.cluster.Load()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cluster.Config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	p, err := promote.Find(cmd.Context(), client, name)
	if err != nil {
		return cluster.Explain(err)
	}
	out := cmd.OutOrStdout()
	if f.output.IsText() {
		describePromotion(out, p, cmp.Or(cluster.Context, "(none)"), cluster.Config.Host)
	}
	if doubt := p.Doubt(); doubt != "" && !f.yes {
		if !f.output.IsText() || !prompt.Possible(cmd.InOrStdin()) {
			return fmt.Errorf("%s, and nothing was written: set --yes to promote the candidate nevertheless", doubt)
		}
		if err := prompt.Confirm(cmd.InOrStdin(), out, "Promote the candidate?"); err != nil {
			return err
		}
	}
	if err := p.Run(cmd.Context()); err != nil {
		return cluster.Explain(err)
	}
	if !f.output.IsText() {
		return f.output.Print(out, promoted{p.Kind(), p.Name(), p.Condition, append([]string{}, p.Kept...), p.Manager})
	}
	_, err = fmt.Fprintf(out, "%s: the candidate is the script now\n", p)
	return err
}

// describePromotion prints what is about to be written.
func describePromotion(out io.Writer, p *promote.Promotion, context, host string) {
	fmt.Fprintf(out, "context %s, API server %s\n", context, host)
	fmt.Fprintf(out, "%s: spec.script becomes spec.shadow.script, and spec.shadow is removed\n", p)
	if len(p.Kept) > 0 {
		fmt.Fprintf(out, "  settings of spec.script that stay: %s\n", strings.Join(p.Kept, ", "))
	}
	fmt.Fprintf(out, "  ShadowAgrees %s %s: %s\n", p.Condition.Status, p.Condition.Reason, p.Condition.Message)
	if p.Manager != "" {
		fmt.Fprintf(out, "  %s seems to write this controller from a file: make the same edit in the file, or it is undone\n", p.Manager)
	}
}
