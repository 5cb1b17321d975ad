package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/version"
)

// versionCommand returns the command version. It prints what a bug report needs.
func versionCommand() *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of the program, the commit and its date, the version of Go that the program was built with, and the
platform. A program that was not built as a release has the version of its module, or the commit. The flag --version prints
the same line.

With --output json or yaml, the output is an object with the fields version, revision (the commit), date (of the commit),
modified (true if there were changes that are not in the commit), go and platform. Fields that are not known are left out.`,
		Example: `  metascript version
  metascript version -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := version.Get()
			if !format.IsText() {
				return format.Print(cmd.OutOrStdout(), info)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), info)
			return err
		},
	}
	format.Register(cmd.Flags())
	return cmd
}
