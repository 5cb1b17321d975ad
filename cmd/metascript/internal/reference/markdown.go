package reference

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

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
	for _, p := range paragraphs(cmd.Long) {
		if p.kept {
			b.WriteString("\n" + code(p.text))
		} else {
			b.WriteString("\n" + text(p.text) + "\n")
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

// flags returns the rows of a table of the flags.
func flags(cmd *cobra.Command) string {
	var b strings.Builder
	for _, o := range options(cmd) {
		names := "`" + strings.TrimSpace("--"+o.name+" "+o.value) + "`"
		if o.short != "" {
			names = "`-" + o.short + "`, " + names
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", names, text(o.fallback), strings.ReplaceAll(text(o.usage), "|", `\|`))
	}
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
