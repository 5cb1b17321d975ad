package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// rootCommand returns the root command, which runs the server if no command is given. If asDropIn is set, the server logs like
// Metacontroller.
func rootCommand(asDropIn bool) *cobra.Command {
	server := controllerCommand(asDropIn)
	root := &cobra.Command{
		Use:           "metascript",
		Short:         "Run Kubernetes controllers whose logic is a script in the controller object",
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          server.RunE,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(explainFlag)
	root.Flags().AddFlagSet(server.Flags())
	root.AddCommand(server, devCommand(), runCommand(), testCommand(), checkCommand(), rbacCommand(), gcCommand(), typesCommand(), versionCommand())
	return root
}

// noArgs returns an error if there is an argument, which is an unknown command. The error suggests commands with similar names.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q: see metascript --help", args[0])
}
