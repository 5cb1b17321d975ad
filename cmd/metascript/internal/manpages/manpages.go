// Package manpages writes manual pages for man(1): one for the program and one for each command. They are part of a release.
package manpages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/completion"
	"metascript/cmd/metascript/internal/version"
)

// Command returns the command man. It is hidden, since only those who package the program need it.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:               "man DIRECTORY",
		Hidden:            true,
		Short:             "Write manual pages",
		Long:              "Write a manual page for the program and one for each command in a directory, which is created. They are in section 1.",
		Example:           "  metascript man /usr/local/share/man/man1",
		ValidArgsFunction: completion.Directories,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := arguments.Some("a directory")(cmd, args); err != nil {
				return err
			}
			return arguments.Optional(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return write(args[0], cmd.Root())
		},
	}
}

// write writes the page of a command and those of its commands.
func write(dir string, cmd *cobra.Command) error {
	if err := os.WriteFile(filepath.Join(dir, name(cmd)+".1"), []byte(page(cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := write(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of the page of a command, such as metascript-run.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns the page of a command, in the language of man pages: see groff_man(7).
func page(cmd *cobra.Command) string {
	info := version.Get()
	day, _, _ := strings.Cut(info.Date, "T")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 %q %q %q\n", strings.ToUpper(name(cmd)), day, "metascript "+info.Version, "metascript")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(name(cmd)), escaped(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR\n", escaped(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n" + text(cmd.Long))
	cmd.InitDefaultHelpFlag()
	if options := options(cmd.Flags()); options != "" {
		b.WriteString(".SH OPTIONS\n" + options)
	}
	var commands strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&commands, ".TP\n\\fB%s\\fR(1)\n%s\n", escaped(name(sub)), escaped(sub.Short))
		}
	}
	if commands.Len() > 0 {
		b.WriteString(".SH COMMANDS\n" + commands.String())
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + unfilled(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n\\fB%s\\fR(1)\n", escaped(name(cmd.Parent())))
	}
	return b.String()
}

// text returns paragraphs. The lines of one that is indented are kept.
func text(s string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") || strings.HasPrefix(paragraph, "\t") || strings.Contains(paragraph, "\n  ") {
			b.WriteString(unfilled(paragraph))
		} else {
			b.WriteString(escaped(paragraph) + "\n")
		}
	}
	return b.String()
}

// unfilled returns text whose lines are kept.
func unfilled(s string) string { return ".nf\n" + escaped(strings.Trim(s, "\n")) + "\n.fi\n" }

// options returns the flags that the help of the command has too.
func options(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(&b, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		fmt.Fprintf(&b, "\\fB\\-\\-%s\\fR", escaped(f.Name))
		if value != "" {
			fmt.Fprintf(&b, " \\fI%s\\fR", escaped(value))
		}
		b.WriteString("\n" + escaped(usage))
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			b.WriteString(" (default " + escaped(f.DefValue) + ")")
		}
		b.WriteString("\n")
	})
	return b.String()
}

// escaped returns text that has no requests. A line that begins with a dot or an apostrophe is one, and a dash without a backslash is
// a hyphen, which cannot be copied to a command line.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
