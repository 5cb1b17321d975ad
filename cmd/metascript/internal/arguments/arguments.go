// Package arguments checks the arguments of commands, and says what is wrong with them: what was probably meant, and a line to write
// in its place. The errors of packages cobra and pflag are not shown to users.
package arguments

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// None is for commands without arguments. If the command has a flag that is required, or a flag for files, the argument is probably
// its value.
func None(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s takes no argument %q", cmd.Name(), args[0])
	if cmd.Flags().Lookup(filename) == nil {
		return fmt.Errorf("%s: see %s --help", text, cmd.CommandPath())
	}
	if cmd.Flags().Changed(filename) && len(missing(cmd)) == 0 {
		return withHint(text+`: quote a pattern, as in -f "*.yaml", or write -f before each file`, cmd.CommandPath()+" -f FILE -f FILE")
	}
	return withHint(text+": files are the values of flags", withFlags(cmd, args))
}

// Optional is for commands with at most one argument.
func Optional(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	return withHint(fmt.Sprintf("%s takes one argument, not %d: %s", cmd.Name(), len(args), strings.Join(args, " ")), example(cmd))
}

// Some returns the check for commands with at least one argument. what says what an argument is, such as "a directory".
func Some(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return withHint(cmd.Name()+" needs an argument: "+what, example(cmd))
	}
}

// One returns the check for commands with one argument. what says what it is.
func One(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := Some(what)(cmd, args); err != nil {
			return err
		}
		return Optional(cmd, args)
	}
}

// Explain replaces the errors of root and its commands about their arguments.
func Explain(root *cobra.Command) {
	root.Args = commandName
	root.SetFlagErrorFunc(ofFlag)
	root.SetHelpCommand(helpCommand())
	for _, cmd := range root.Commands() {
		own := cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := own(cmd, args); err != nil {
				return err
			}
			return flagsTogether(cmd)
		}
	}
}

// filename is the name of the flag for files, whose short form is -f.
const filename = "filename"

// short returns how a user writes a flag.
func short(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// missing returns the flags that are required and not set.
func missing(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed && len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 {
			names = append(names, short(f))
		}
	})
	return names
}

// exclusive matches the error of cobra about flags that exclude each other.
var exclusive = regexp.MustCompile(`\[([^\]]+)\] were all set$`)

// flagsTogether returns an error if a flag is missing, or if flags are set that exclude each other. cobra checks this too, but later.
func flagsTogether(cmd *cobra.Command) error {
	switch flags := missing(cmd); len(flags) {
	case 0:
	case 1:
		return withHint("the flag "+flags[0]+" is missing", example(cmd))
	default:
		return withHint("the flags "+strings.Join(flags, " and ")+" are missing", example(cmd))
	}
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	if match := exclusive.FindStringSubmatch(err.Error()); match != nil {
		return errors.New("--" + strings.ReplaceAll(match[1], " ", " and --") + " exclude each other: keep one")
	}
	return err
}

// withFlags returns the command line with args as the values of the flags that are missing, and then as files.
func withFlags(cmd *cobra.Command, args []string) string {
	flags, line := missing(cmd), cmd.CommandPath()
	for i, arg := range args {
		flag := "-f"
		if i < len(flags) {
			flag = flags[i]
		}
		line += " " + flag + " " + arg
	}
	for _, flag := range flags[min(len(args), len(flags)):] {
		line += " " + flag + " FILE"
	}
	return line
}

// example returns the first example of a command.
func example(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(cmd.Example, "\n")
	return strings.TrimSpace(line)
}

func withHint(text, line string) error { return fmt.Errorf("%s\n  hint: %s", text, line) }

// longName matches a flag with one dash before a name of several letters, which package flag accepts.
var longName = regexp.MustCompile(`^-[a-z][a-z-]+[a-z](=|$)`)

// TwoDashes returns args with two dashes in the place of one before a long name. It does so for the server and for the command
// test, since Metacontroller and "go test" accept both. Other commands have flags with short names, such as -f, which can be
// combined; their arguments do not change.
func TwoDashes(args []string) []string {
	if len(args) > 0 && args[0] != "controller" && args[0] != "test" && !strings.HasPrefix(args[0], "-") {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break // the arguments after it are not flags
		}
		if longName.MatchString(arg) {
			args[i] = "-" + arg
		}
	}
	return args
}
