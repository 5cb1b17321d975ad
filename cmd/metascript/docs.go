package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/explain"
	"metascript/cmd/metascript/internal/markdown"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/style"
	"metascript/docs"
	"metascript/engine"
)

// explainCommand returns the command explain. Its texts are a page of the documentation, so that both say the same.
func explainCommand() *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "explain [REASON]",
		Short: "Explain the reason of an event or a condition",
		Long: `Explain the reason of an event, or the type or the reason of a condition, that the server writes: what it means, why it
happens, and what to do. Without an argument, list all reasons. REASON is not case-sensitive.

With --output json or yaml, the output is a list of objects with the fields name, where, meaning, cause and remedy.`,
		Example: `  metascript explain ScriptHeld
  metascript explain -o json`,
		Args: arguments.Optional,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			entries, err := explain.Entries()
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explain.Names(entries), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return explainReason(cmd, args, &format) },
	}
	format.Register(cmd.Flags())
	return cmd
}

// explainReason prints one entry, or all if there is no argument.
func explainReason(cmd *cobra.Command, args []string, format *output.Format) error {
	entries, err := explain.Entries()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		entry, err := explain.Find(args[0], entries)
		if err != nil {
			return err
		}
		entries = []explain.Entry{entry}
	}
	out := cmd.OutOrStdout()
	styler := style.For(out)
	switch {
	case !format.IsText():
		return format.Print(out, entries)
	case len(args) > 0:
		_, err = io.WriteString(out, entries[0].Text(styler))
		return err
	}
	for _, entry := range entries {
		fmt.Fprintf(out, "%s\n%s", styler.Strong(entry.Name), markdown.Wrap(entry.Meaning, "    "))
	}
	return nil
}

// docsCommand returns the command docs.
func docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs [TOPIC]",
		Short: "Print the documentation",
		Long: `Print a page of the documentation as plain text. It is the documentation of this version of the program. Without an
argument, list the pages.`,
		Example: `  metascript docs scripts | less
  metascript docs`,
		Args: arguments.Optional,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			topics, err := topics()
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return topics, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: printDocs,
	}
}

// pageExtension is the extension of the files of pages. A topic is the name of a page without it, in lower case.
const pageExtension = ".md"

// topics returns the names of all pages, sorted.
func topics() ([]string, error) {
	files, err := docs.Pages.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files {
		all = append(all, strings.ToLower(strings.TrimSuffix(file.Name(), pageExtension)))
	}
	slices.Sort(all)
	return all, nil
}

// page returns the text of the page of a topic.
func page(topic string) (string, error) {
	for _, name := range []string{topic, strings.ToUpper(topic)} { // such as SECURITY.md
		if text, err := docs.Pages.ReadFile(name + pageExtension); err == nil {
			return string(text), nil
		}
	}
	all, err := topics()
	if err != nil {
		return "", err
	}
	return "", unknownTopic(topic, all)
}

// printDocs prints a page, or the list of pages if there is no argument.
func printDocs(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	styler := style.For(out)
	if len(args) > 0 {
		text, err := page(strings.TrimSuffix(args[0], pageExtension))
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, markdown.Plain(text, styler))
		return err
	}
	all, err := topics()
	if err != nil {
		return err
	}
	for _, topic := range all {
		text, err := page(topic)
		if err != nil {
			return err
		}
		title, sentence := markdown.FirstSentence(text)
		fmt.Fprintf(out, "%s: %s\n%s", styler.Strong(topic), title, markdown.Wrap(sentence, "    "))
	}
	return nil
}

// unknownTopic returns the error that there is no page of a name.
func unknownTopic(name string, all []string) error {
	if near := engine.Nearest(name, all); near != "" {
		return fmt.Errorf("there is no page %q: did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no page %q: metascript docs lists the pages", name)
}
