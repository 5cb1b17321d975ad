// Package reference writes pages that are made of the program itself: manual pages for man(1), which are part of a release, and pages in
// Markdown about the commands and the metrics, which "make site" adds to the site.
package reference

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/completion"
)

// Command returns the command reference. It is hidden, since only the build of the site needs it.
func Command() *cobra.Command {
	return writer(&cobra.Command{
		Use:     "reference DIRECTORY",
		Short:   "Write pages about the commands and the metrics",
		Long:    "Write a page for each command and one of the metrics, in Markdown, in a directory, which is created.",
		Example: "  metascript reference build/reference",
	}, Pages)
}

// ManualCommand returns the command man. It is hidden, since only those who package the program need it.
func ManualCommand() *cobra.Command {
	return writer(&cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write manual pages",
		Long:    "Write a manual page for the program and one for each command in a directory, which is created. They are in section 1.",
		Example: "  metascript man /usr/local/share/man/man1",
	}, func(root *cobra.Command) (map[string]string, error) { return manual(root), nil })
}

// writer completes a hidden command that writes pages of the program, by the names of their files, to a directory.
func writer(cmd *cobra.Command, pages func(root *cobra.Command) (map[string]string, error)) *cobra.Command {
	cmd.Hidden = true
	cmd.ValidArgsFunction = completion.Directories
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := arguments.Some("a directory")(cmd, args); err != nil {
			return err
		}
		return arguments.Optional(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := pages(cmd.Root())
		if err != nil {
			return err
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if err := os.WriteFile(filepath.Join(args[0], name), []byte(all[name]), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// An option is a flag as the help shows it. What is "" is not shown.
type option struct{ short, name, value, usage, fallback string }

// options returns the flags that the help of a command shows.
func options(cmd *cobra.Command) []option {
	var all []option
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		o := option{short: f.Shorthand, name: f.Name}
		o.value, o.usage = pflag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			o.fallback = f.DefValue
		}
		all = append(all, o)
	})
	return all
}

// A paragraph is a part of a long text. The lines of one that is indented are kept.
type paragraph struct {
	text string
	kept bool
}

func paragraphs(long string) []paragraph {
	var all []paragraph
	for text := range strings.SplitSeq(strings.Trim(long, "\n"), "\n\n") {
		all = append(all, paragraph{text, strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") || strings.Contains(text, "\n  ")})
	}
	return all
}
