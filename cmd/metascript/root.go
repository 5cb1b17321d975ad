package main

import (
	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/completion"
	"metascript/cmd/metascript/internal/inspection"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/recordfile"
	"metascript/cmd/metascript/internal/reference"
	"metascript/cmd/metascript/internal/version"
)

// rootCommand returns the root command. Without a command it shows its help, or runs the server if server is set: with flags and no
// command, as Metacontroller is started, or in place of its binary. If asDropIn is set, the server logs like Metacontroller.
func rootCommand(asDropIn, asServer bool) *cobra.Command {
	server := controllerCommand(asDropIn)
	root := &cobra.Command{
		Use:   "metascript",
		Short: "Run Kubernetes controllers whose logic is a script in the controller object",
		Long: `Run Kubernetes controllers whose logic is a script in the controller object.

To write a controller, begin with init. The commands run, check, test and simulate need no cluster, and dev uses one. Before you apply
an edit, plan shows what it would change in a cluster. The command controller is the server. If there are flags and no command, or if
the binary is called metacontroller, the program is the server too. The documentation is in the program: see docs and explain.`,
		Example: `  metascript init webapp
  metascript run -f controller.yaml --parent parent.yaml
  metascript test examples
  metascript simulate examples
  metascript dev -f controller.yaml --dry-run
  metascript plan -f controller.yaml --against live
  metascript controller --kubeconfig FILE`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asServer {
				return server.RunE(cmd, args)
			}
			return cmd.Help()
		},
	}
	root.Flags().AddFlagSet(server.Flags())
	root.Version = version.Get().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version, as the command version does")
	root.AddCommand(server, initCommand(), devCommand(), planCommand(), runCommand(), testCommand(), simulateCommand(), recordfile.Command(), replayCommand(), checkCommand(), rbacCommand(), promoteCommand(), gcCommand(), uninstallCommand(), typesCommand(), explainCommand(), docsCommand(), versionCommand(), reference.ManualCommand(), reference.Command())
	root.AddCommand(inspection.WhyCommand(), inspection.TreeCommand())
	arguments.Explain(root)
	for _, cmd := range root.Commands() {
		kubeconfig.Accept(cmd.Flags())
		completion.Register(cmd) // the flags of the root command are those of controller
	}
	return root
}
