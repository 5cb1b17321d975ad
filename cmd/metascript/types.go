package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"metascript/scripts/lib/editor"
)

// typesCommand returns the command types. The files that it writes are embedded in the program, so they have the same version as the
// library.
func typesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "types [DIR]",
		Short: "Write types of requests, answers and the library, for editors",
		Long: `Write files beside scripts, by which an editor completes and checks them: what a function is given, what it
returns, and the functions of the library that every script may load.

They go to DIR, or to the current folder. Files that it wrote before are replaced; a file of the same name that it did not
write is an error, and then nothing is written. The server ignores these files.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if info, err := os.Stat(dir); err != nil {
				return err
			} else if !info.IsDir() {
				return fmt.Errorf("%s is not a folder", dir)
			}
			names, err := editor.Write(dir)
			if err != nil {
				return err
			}
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, filepath.FromSlash(name)))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), typesAdvice)
			return err
		},
	}
}

// typesAdvice describes how to use the files in editors.
const typesAdvice = `
JavaScript: open the folder in an editor that knows TypeScript, and write above a function
    /** @type {import("metascript").Sync} */
Starlark: starlark-lsp start --builtin-paths metascript-stubs
Requests and answers as JSON: metascript.schema.json#/$defs/SyncRequest, SyncResponse, ...
`
