package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metascript/engine"
)

// longName matches a flag with one dash before a name of several letters, which package flag accepts.
var longName = regexp.MustCompile(`^-[a-z][a-z-]+[a-z](=|$)`)

// twoDashes returns args with two dashes in the place of one before a long name. It does so for the server and for the command
// test, since Metacontroller and "go test" accept both. Other commands have flags with short names, such as -f, which can be
// combined; their arguments do not change.
func twoDashes(args []string) []string {
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

// explainFlag adds to the error about a flag, or about its value, which flags or values are valid.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := engine.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w: did you mean --%s?", err, near)
		}
		return fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid))
	}
	return err
}

// wanted returns which values a flag accepts. The errors of pflag contain names of functions of package strconv; the errors of
// values that are defined in this program are shown unchanged.
func wanted(invalid *pflag.InvalidValueError) string {
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64":
		return "want a whole number"
	case "float32", "float64":
		return "want a number"
	case "bool":
		return "want true or false"
	case "duration":
		return "want a duration such as 30s or 5m"
	}
	return invalid.Unwrap().Error()
}
