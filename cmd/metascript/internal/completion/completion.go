// Package completion makes shells complete the values of flags: words, contexts of a kubeconfig file, files and directories.
package completion

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/kubeconfig"
)

// Register registers how shells complete the values of the flags of a command, and its arguments if the command itself does not.
func Register(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := completionOf(cmd, f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails only for a flag that does not exist, or twice
		}
	})
}

// completionOf returns how a flag is completed; nil if its values are files of any kind, or cannot be known.
func completionOf(cmd *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	if words, ok := f.Value.(flagvalue.Words); ok {
		return cobra.FixedCompletions(words.Completions(), cobra.ShellCompDirectiveNoFileComp)
	}
	switch f.Name {
	case "context":
		return completeContext
	case "scripts-dir", "cases":
		return Directories
	case "filename", "children", "related":
		return cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
	case "parent":
		if f.Value.Type() == "string" {
			return cobra.NoFileCompletions // the name of a parent in the cluster
		}
		return cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
	case "junit":
		return cobra.FixedCompletions([]string{"xml"}, cobra.ShellCompDirectiveFilterFileExt)
	case "kubeconfig":
		return nil
	}
	return cobra.NoFileCompletions
}

// completeContext completes the name of a context in the kubeconfig file that the command would use.
func completeContext(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	path, _ := cmd.Flags().GetString("kubeconfig") // "" if there is no such flag
	return (&kubeconfig.Flags{Path: path}).Contexts(), cobra.ShellCompDirectiveNoFileComp
}

// Directories completes names of directories.
func Directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
