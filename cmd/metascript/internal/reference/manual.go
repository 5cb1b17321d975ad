package reference

import (
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/version"
)

// manual returns the manual pages of a command and of its commands, by the names of their files.
func manual(cmd *cobra.Command) map[string]string {
	pages := map[string]string{manualName(cmd) + ".1": manualPage(cmd)}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			maps.Copy(pages, manual(sub))
		}
	}
	return pages
}

// manualName returns the name of the page of a command, such as metascript-run.
func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns the page of a command, in the language of man pages: see groff_man(7).
func manualPage(cmd *cobra.Command) string {
	info := version.Get()
	day, _, _ := strings.Cut(info.Date, "T")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 %q %q %q\n", strings.ToUpper(manualName(cmd)), day, "metascript "+info.Version, "metascript")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(manualName(cmd)), escaped(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR\n", escaped(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n" + filled(cmd.Long))
	if rows := manualOptions(cmd); rows != "" {
		b.WriteString(".SH OPTIONS\n" + rows)
	}
	var commands strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&commands, ".TP\n\\fB%s\\fR(1)\n%s\n", escaped(manualName(sub)), escaped(sub.Short))
		}
	}
	if commands.Len() > 0 {
		b.WriteString(".SH COMMANDS\n" + commands.String())
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + unfilled(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n\\fB%s\\fR(1)\n", escaped(manualName(cmd.Parent())))
	}
	return b.String()
}

// filled returns paragraphs, whose lines man fills.
func filled(long string) string {
	var b strings.Builder
	for i, p := range paragraphs(long) {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if p.kept {
			b.WriteString(unfilled(p.text))
		} else {
			b.WriteString(escaped(p.text) + "\n")
		}
	}
	return b.String()
}

// unfilled returns text whose lines are kept.
func unfilled(s string) string { return ".nf\n" + escaped(strings.Trim(s, "\n")) + "\n.fi\n" }

// manualOptions returns the flags.
func manualOptions(cmd *cobra.Command) string {
	var b strings.Builder
	for _, o := range options(cmd) {
		b.WriteString(".TP\n")
		if o.short != "" {
			fmt.Fprintf(&b, "\\fB\\-%s\\fR, ", o.short)
		}
		fmt.Fprintf(&b, "\\fB\\-\\-%s\\fR", escaped(o.name))
		if o.value != "" {
			fmt.Fprintf(&b, " \\fI%s\\fR", escaped(o.value))
		}
		b.WriteString("\n" + escaped(o.usage))
		if o.fallback != "" {
			b.WriteString(" (default " + escaped(o.fallback) + ")")
		}
		b.WriteString("\n")
	}
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
