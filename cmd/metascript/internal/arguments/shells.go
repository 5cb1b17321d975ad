package arguments

import (
	"fmt"

	"github.com/spf13/cobra"

	"metascript/engine"
)

// AddCompletion adds cobra's command completion to root, whose output must be set. It has a command for each shell. cobra itself prints
// the help for a shell that it does not know, as if that were no error.
func AddCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // it was added above
	}
	var shells []string
	for _, shell := range cmd.Commands() {
		shells = append(shells, shell.Name())
		shell.Args = None
	}
	cmd.Use, cmd.Example = "completion SHELL", "  source <(metascript completion bash)"
	cmd.Short = "Print a script with which a shell completes the commands"
	cmd.Long = cmd.Short + ". The help of each shell says how to install it, such as metascript completion bash --help."
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return withHint("completion needs an argument: want "+engine.OneOf("", shells), "metascript completion "+shells[0])
		}
		return fmt.Errorf("unknown shell %q: want %s", args[0], engine.OneOf(args[0], shells))
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // without it, cobra does not check the arguments
}
