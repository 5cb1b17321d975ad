// Package reference writes pages of the documentation that are made of the program itself: one for each command, and one of the metrics.
// "make site" adds them to the site.
package reference

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/completion"
)

// Command returns the command reference. It is hidden, since only the build of the site needs it.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:               "reference DIRECTORY",
		Hidden:            true,
		Short:             "Write pages about the commands and the metrics",
		Long:              "Write a page for each command and one of the metrics, in Markdown, in a directory, which is created.",
		Example:           "  metascript reference build/reference",
		ValidArgsFunction: completion.Directories,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := arguments.Some("a directory")(cmd, args); err != nil {
				return err
			}
			return arguments.Optional(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pages, err := Pages(cmd.Root())
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(pages)) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(pages[name]), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Pages returns the pages of all commands of a program, and of the metrics, by the names of their files.
func Pages(root *cobra.Command) (map[string]string, error) {
	metrics, err := metricsPage()
	if err != nil {
		return nil, err
	}
	pages := map[string]string{"metrics.md": metrics}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			pages["command-"+cmd.Name()+".md"] = commandPage(cmd)
		}
	}
	return pages, nil
}

// commandPage returns the page of a command, which has the same texts as its help.
func commandPage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n%s", cmd.CommandPath(), text(cmd.Short), code(cmd.UseLine()))
	for paragraph := range strings.SplitSeq(strings.Trim(cmd.Long, "\n"), "\n\n") {
		if strings.Contains(paragraph, "\n  ") || strings.HasPrefix(paragraph, " ") {
			b.WriteString("\n" + code(paragraph))
		} else {
			b.WriteString("\n" + text(paragraph) + "\n")
		}
	}
	if cmd.Example != "" {
		b.WriteString("\n## Examples\n\n" + code(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")))
	}
	if flags := flags(cmd); flags != "" {
		b.WriteString("\n## Flags\n\n| flag | default | meaning |\n|---|---|---|\n" + flags)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n%s", sub.CommandPath(), text(sub.Short), code(sub.UseLine()))
		}
	}
	return b.String()
}

// flags returns the rows of a table of the flags that the help shows.
func flags(cmd *cobra.Command) string {
	var b strings.Builder
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		names := "`" + strings.TrimSpace("--"+f.Name+" "+value) + "`"
		if f.Shorthand != "" {
			names = "`-" + f.Shorthand + "`, " + names
		}
		standard := ""
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			standard = text(f.DefValue)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", names, standard, strings.ReplaceAll(text(usage), "|", `\|`))
	})
	return b.String()
}

// code returns an indented block.
func code(lines string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(lines, "\n"), "\n") {
		b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	}
	return b.String()
}

var (
	special = regexp.MustCompile("[\\\\`*_<\\[\\]]")
	flag    = regexp.MustCompile(`(^|[\s(])(--?[a-z][a-z-]*)`)
)

// text returns a text that Markdown shows as it is, with names of flags as code.
func text(plain string) string {
	return flag.ReplaceAllString(special.ReplaceAllString(plain, `\$0`), "$1`$2`")
}
