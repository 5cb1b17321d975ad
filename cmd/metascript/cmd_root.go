package main

import (
	"github.com/spf13/cobra"
)

// rootCommand has a verb for each file cmd_*.go. Called without one it is the server.
func rootCommand() *cobra.Command {
	server := controllerCommand()
	root := &cobra.Command{
		Use:           "metascript",
		Short:         "Kubernetes controllers whose logic is a script inside their own object",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          server.RunE,
	}
	root.Flags().AddFlagSet(server.Flags())
	root.AddCommand(server, runCommand(), checkCommand(), versionCommand())
	return root
}
