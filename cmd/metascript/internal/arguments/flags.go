package arguments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metascript/controller/allowed"
)

// ofFlag returns the error about a flag, or about its value, in place of that of package pflag.
func ofFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	var malformed *pflag.InvalidSyntaxError
	if first := cmd.Flags().Arg(0); first != "" && !cmd.HasParent() {
		return unknownCommand(cmd, first) // so that its flags are unknown too
	}
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid))
	case errors.As(err, &bare):
		return withHint(fmt.Sprintf("the flag %s needs a value", short(bare.GetFlag())), example(cmd))
	case errors.As(err, &malformed):
		return fmt.Errorf("%s is not a flag: see %s --help", malformed.GetSpecifiedFlag(), cmd.CommandPath())
	}
	return err
}

// unknownFlag returns the error about a flag that a command does not have.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name, text := err.GetSpecifiedName(), "--"+err.GetSpecifiedName()
	if letters := err.GetSpecifiedShortnames(); letters != "" {
		name, text = letters, "-"+letters
	}
	if !cmd.HasParent() && name == "f" {
		return withHint("a command is missing before -f", "metascript check -f controller.yaml")
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	word, _, _ := strings.Cut(name, "=")
	if cmd.Flags().Lookup(word) != nil {
		return fmt.Errorf("unknown flag %s: did you mean --%s?", text, word)
	}
	if like := near(word, names); like != "" {
		return fmt.Errorf("unknown flag %s: did you mean --%s?", text, like)
	}
	if like := nearCommand(cmd, word); like != "" {
		return fmt.Errorf("unknown flag %s: did you mean the command %s?", text, like)
	}
	return fmt.Errorf("unknown flag %s: see %s --help", text, cmd.CommandPath())
}

// wanted returns which values a flag accepts. The errors of pflag contain names of functions of package strconv; the errors of
// values that are defined in this program are shown unchanged.
func wanted(invalid *pflag.InvalidValueError) string {
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64", "int32":
		return "want a whole number"
	case "float32", "float64":
		return "want a number"
	case "bool":
		return "want true or false"
	case "duration":
		return "want a duration; " + allowed.Duration(invalid.GetValue())
	case "quantity":
		return "want a quantity; " + allowed.Quantity(invalid.GetValue())
	}
	return invalid.Unwrap().Error()
}
