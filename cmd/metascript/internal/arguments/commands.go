package arguments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metascript/engine"
)

// elsewhere are names of commands of other programs, and what to use here.
var elsewhere = map[string]string{
	"apply":  "kubectl apply stores a controller in a cluster; metascript dev runs it from its file",
	"create": "kubectl create stores a controller in a cluster; metascript init writes a new one",
	"delete": "kubectl delete deletes a controller",
	"get":    "kubectl get compositecontrollers,decoratorcontrollers lists controllers",
}

// commandName is the check of the arguments of the root command: the first one is not the name of a command.
func commandName(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(root, args[0])
}

// unknownCommand returns the error that there is no command of a name. The field SuggestFor of a command has names that are no
// misspellings, such as lint for check.
func unknownCommand(root *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q: ", name)
	if hint := elsewhere[name]; hint != "" {
		return fmt.Errorf("%s%s", text, hint)
	}
	if near := nearCommand(root, name); near != "" {
		return fmt.Errorf("%sdid you mean %s?", text, near)
	}
	return fmt.Errorf("%ssee metascript --help", text)
}

// nearCommand returns the name of the command that was probably meant by a name, or "".
func nearCommand(root *cobra.Command, name string) string {
	var names []string
	for _, cmd := range root.Commands() {
		if slices.Contains(cmd.SuggestFor, name) {
			return cmd.Name()
		}
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return near(name, names)
}

// near returns the name that was probably meant: the only one that begins with name, or else the most similar one.
func near(name string, names []string) string {
	var longer []string
	for _, n := range names {
		if len(name) > 1 && strings.HasPrefix(n, name) {
			longer = append(longer, n)
		}
	}
	if len(longer) == 1 {
		return longer[0]
	}
	return engine.Nearest(name, names)
}

// helpCommand returns the command help. Unlike that of cobra, it returns an error for a command that does not exist.
func helpCommand() *cobra.Command {
	find := func(root *cobra.Command, args []string) (*cobra.Command, error) {
		if len(args) == 0 {
			return root, nil
		}
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root {
			return nil, unknownCommand(root, args[0])
		}
		if len(rest) > 0 {
			return nil, fmt.Errorf("%s has no command %q: see %s --help", cmd.CommandPath(), rest[0], cmd.CommandPath())
		}
		return cmd, nil
	}
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Example: "  metascript help check",
		Args: func(cmd *cobra.Command, args []string) error {
			_, err := find(cmd.Root(), args)
			return err
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, other := range cmd.Root().Commands() {
				if len(args) == 0 && other.IsAvailableCommand() {
					names = append(names, other.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := find(cmd.Root(), args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
