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

// longName is a flag as Go programs take it: a name after one dash.
var longName = regexp.MustCompile(`^-[a-z][a-z-]+[a-z](=|$)`)

// twoDashes gives the arguments of the server, and of test, with two dashes where there is one before a long name:
// Metacontroller and "go test" take both. Those of other verbs, which have short names too, are given back as they are.
func twoDashes(args []string) []string {
	if len(args) > 0 && args[0] != "controller" && args[0] != "test" && !strings.HasPrefix(args[0], "-") {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if longName.MatchString(arg) {
			args[i] = "-" + arg
		}
	}
	return args
}

// explainFlag says of a wrong flag, or of a wrong value, what would be right.
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

// wanted says which values a flag takes.
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
