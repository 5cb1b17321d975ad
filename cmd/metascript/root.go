package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// rootCommand has a command for each verb. Called without a verb it is the server. As a drop-in for Metacontroller the server
// logs as Metacontroller does.
func rootCommand(asDropIn bool) *cobra.Command {
	server := controllerCommand(asDropIn)
	root := &cobra.Command{
		Use:           "metascript",
		Short:         "Kubernetes controllers whose logic is a script inside their own object",
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          server.RunE,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(explainFlag)
	root.Flags().AddFlagSet(server.Flags())
	root.AddCommand(server, devCommand(), runCommand(), testCommand(), checkCommand(), gcCommand(), typesCommand(), versionCommand())
	return root
}

// noArgs refuses an argument. Without a verb it is a misspelt verb, so the error suggests the verbs that are spelled like it.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q: see metascript --help", args[0])
}
