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

// longName matches a flag with one dash before a name of several letters, as package flag takes it.
var longName = regexp.MustCompile(`^-[a-z][a-z-]+[a-z](=|$)`)

// twoDashes returns arguments with two dashes where there is one before a long name. It does so for the server and for the
// verb test, since Metacontroller and "go test" take both. Other verbs have short names, such as -f, which can be combined;
// their arguments stay as they are.
func twoDashes(args []string) []string {
	if len(args) > 0 && args[0] != "controller" && args[0] != "test" && !strings.HasPrefix(args[0], "-") {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break // what follows are no flags
		}
		if longName.MatchString(arg) {
			args[i] = "-" + arg
		}
	}
	return args
}

// explainFlag adds to the error about a flag, or about its value, what would be right.
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

// wanted says which values a flag takes. pflag's own errors name functions of package strconv; the values of package flagvalue
// and the like have errors that can be shown as they are.
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
