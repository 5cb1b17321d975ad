package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/cases"
	"metascript/cmd/metascript/internal/completion"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/types"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/offline"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/engine"
)

// typesFlags are the flags of the command types.
type typesFlags struct {
	files, related []string
	schemas        schemaflags.Flags
	sandbox        sandbox.Flags
}

// typesCommand returns the command types. The types of the library are embedded in the program, so they have the same version as the
// library.
func typesCommand() *cobra.Command {
	var f typesFlags
	cmd := &cobra.Command{
		Use:   "types [-f controller.yaml] [DIR]",
		Short: "Write type definitions of requests, answers and the library, for editors",
		Long: `Write type definitions into a directory of scripts. Editors use them to complete and check scripts. They describe the
requests, the answers, and the functions of the library.

With -f, requests and answers have the types of the controllers in the files: the fields of their parents, children and
related objects. Then a misspelled field of a Pod or of the parent's status is an error in the editor. The types of a custom
resource come from its CustomResourceDefinition. It can be in the files, or in crd.yaml beside that of the controller. The
kinds of Kubernetes are known. With --cluster, all kinds of the cluster are known. Objects of other kinds are not checked,
and the command prints a warning that names them.

The kinds of related objects are those that the customize hook selects for the parents of the test cases beside the
files; see "metascript test". --related names others.

DIR defaults to the current directory, and must exist. The command overwrites only files that it wrote itself. If another
file has the same name, this is an error, and nothing is written. The server ignores these files, unless a script imports
them. The files are those for the languages of the scripts in DIR, or for all languages if there are no scripts. If a script is in
TypeScript, the settings are those for TypeScript, and not those for JavaScript.`,
		Example: `  metascript types scripts
  metascript types -f controller.yaml -f crd.yaml --related Secret.v1 scripts`,
		Args:              arguments.Optional,
		ValidArgsFunction: completion.Directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return runTypes(cmd, &f, dir)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files, directories or quoted patterns with controllers, and with CustomResourceDefinitions; "-" is standard input`)
	flags.StringSliceVar(&f.related, "related", nil, "kinds of related objects, such as Secret.v1 or Deployment.apps/v1")
	f.schemas.Register(flags)
	f.sandbox.Register(flags)
	_ = cmd.RegisterFlagCompletionFunc("related", completeKinds)
	return cmd
}

func runTypes(cmd *cobra.Command, f *typesFlags, dir string) error {
	if err := manifest.CheckDir(dir); err != nil {
		return err
	}
	languages, err := types.Languages(dir)
	if err != nil {
		return err
	}
	var texts *types.Texts
	if len(f.files) > 0 {
		if texts, err = f.generate(cmd, slices.Contains(languages, engine.TypeScript)); err != nil {
			return err
		}
	}
	names, err := types.Write(dir, types.Files(languages, texts))
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, filepath.FromSlash(name)))
	}
	fmt.Fprintln(cmd.OutOrStdout())
	for _, advice := range typesAdvice {
		if slices.Contains(languages, advice.language) || len(languages) == 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", advice.language, advice.text)
		}
	}
	_, err = io.WriteString(cmd.OutOrStdout(), "Requests and answers as JSON: metascript.schema.json#/$defs/SyncRequest, SyncResponse, ...\n")
	return err
}

// typesAdvice describes how to use the files in editors.
var typesAdvice = []struct{ language, text string }{
	{engine.JavaScript, `open the directory in an editor that knows TypeScript, and write above a function
    /** @type {import("metascript").Sync} */
    or DecoratorSync, for a DecoratorController`},
	{engine.TypeScript, `import type {SyncRequest, SyncResponse} from "metascript"
    or DecoratorSyncRequest and DecoratorSyncResponse; finalize has the same types as sync`},
	{engine.Starlark, "starlark-lsp start --builtin-paths metascript-stubs"},
	{engine.Jsonnet, "with -f, local kinds = import 'kinds.libsonnet'"},
}

// generate returns the types of the controllers in the files.
func (f *typesFlags) generate(cmd *cobra.Command, typescript bool) (*types.Texts, error) {
	docs, err := manifest.Read(f.files, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	controllers := manifest.Controllers(docs)
	if len(controllers) == 0 {
		return nil, manifest.NoControllers(f.files, docs)
	}
	crds, err := manifest.CRDsWithNeighbors(docs)
	if err != nil {
		return nil, err
	}
	set, err := f.schemas.Schemas(cmd.Context(), crds...)
	if err != nil {
		return nil, err
	}
	finder, err := f.relatedFinder(cmd, docs, set)
	if err != nil {
		return nil, err
	}
	defer finder.sandbox.Close()
	var all []types.Controller
	for _, doc := range controllers {
		d, err := spec.Read(doc.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doc.File, err)
		}
		c := types.Of(d, set.Kinds())
		finder.find(cmd.Context(), doc, &c)
		for _, text := range c.Unknown(set.Kinds()) {
			finder.warn(&c, text)
		}
		all = append(all, c)
	}
	return types.Generate(set, all, typescript)
}

// A relatedFinder finds the kinds of the related objects of controllers.
type relatedFinder struct {
	out     io.Writer // gets warnings, and what scripts print
	set     *schemas.Set
	named   []types.Kind // by the flag
	suites  []*cases.Suite
	sandbox *sandbox.Sandbox
	sources manifest.Sources
}

func (f *typesFlags) relatedFinder(cmd *cobra.Command, docs []manifest.Document, set *schemas.Set) (*relatedFinder, error) {
	r := &relatedFinder{out: cmd.ErrOrStderr(), set: set}
	for _, group := range f.related {
		k, err := types.Parse(set.Kinds(), group)
		if err != nil {
			return nil, fmt.Errorf("--related %w", err)
		}
		r.named = append(r.named, k)
	}
	var err error
	if r.suites, err = suitesBeside(f.files); err != nil {
		return nil, err
	}
	folders := slices.Clone(f.sandbox.Folders)
	for _, s := range r.suites {
		folders = append(folders, s.Dir())
	}
	r.sources = manifest.ScriptSources(folders, docs)
	r.sandbox, err = f.sandbox.Open(nil, manifest.NeedWorkers(docs))
	return r, err
}

func (r *relatedFinder) warn(c *types.Controller, text string) {
	fmt.Fprintf(r.out, "warning: %s: %s\n", c.ID, text)
}

// find adds the kinds of related objects to a controller: those of the flag, and those that its customize hook asks for with the
// parents of the test cases. A script that does not load is no error, since types help to correct it.
func (r *relatedFinder) find(ctx context.Context, doc manifest.Document, c *types.Controller) {
	c.AddRelated(r.named...)
	loaded, err := offline.Load(ctx, doc.Object, r.sandbox.Sandbox, r.sources.Sources)
	if err == nil && loaded.Hooks.Customize == nil {
		return
	}
	if err == nil {
		err = r.ask(ctx, doc, c)
	} else {
		err = r.sources.Located(doc, err)
	}
	c.AnyRelated = len(c.Related) == 0
	switch {
	case err != nil:
		r.warn(c, "the kinds of related objects are not known: "+engine.DetailOf(err))
	case c.AnyRelated:
		r.warn(c, "the kinds of related objects are not known: name them with --related, or write test cases, with whose parents customize is called")
	}
}

// ask calls the customize hook of a controller with the parents of its test cases.
func (r *relatedFinder) ask(ctx context.Context, doc manifest.Document, c *types.Controller) error {
	for _, s := range r.suites {
		calls, err := s.Calls()
		if err != nil {
			return err
		}
		for _, call := range calls {
			if spec.IDOf(call.Controller.Object) != c.ID {
				continue
			}
			call.Controller, call.Schemas, call.Sources = doc, r.set, r.sources
			rules, err := call.Customize(ctx, r.sandbox, r.out)
			if err != nil && !call.Fails {
				return fmt.Errorf("%s: %w", call.File, err)
			}
			for _, rule := range rules {
				c.AddRelated(types.Find(r.set.Kinds(), v1alpha1.ResourceRule{APIVersion: rule.APIVersion, Resource: rule.Resource}))
			}
		}
	}
	return nil
}
