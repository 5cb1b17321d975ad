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
		Short: "Write type definitions of requests, answers and the library, for editors",
		Long: `Write type definitions into a directory of scripts. Editors use them to complete and check scripts. They describe the
requests, the answers, and the functions of the library.

DIR defaults to the current directory. The command overwrites only files that it wrote itself. If another file has the
same name, this is an error, and nothing is written. The server ignores these files.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if info, err := os.Stat(dir); err != nil {
				return err
			} else if !info.IsDir() {
				return fmt.Errorf("%s is not a directory", dir)
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
JavaScript: open the directory in an editor that knows TypeScript, and write above a function
    /** @type {import("metascript").Sync} */
Starlark: starlark-lsp start --builtin-paths metascript-stubs
Requests and answers as JSON: metascript.schema.json#/$defs/SyncRequest, SyncResponse, ...
`
