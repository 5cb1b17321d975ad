package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/memapi"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
)

// runFlags are the flags of the command run. Each list has files or folders; "-" means standard input, and can be in one of the lists.
type runFlags struct {
	files, parents, children, related []string
	finalizing                        bool
	now, controller, namespace        string
	output                            output.Format
	sandbox                           sandbox.Flags
	schemas                           schemaflags.Flags
}

// runCommand returns the command run, which calls a hook for each parent, with objects from files.
func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:        "run -f controller.yaml --parent parent.yaml",
		SuggestFor: []string{"call", "exec", "execute", "sync"},
		Short:      "Call a hook once, without a cluster, and print its answer",
		Long: `Call the hook of a controller once for each parent, with parents and children from files, and print its answer as YAML:
the desired children, and the status of the parent. The command needs no cluster and writes nothing. Text that the script
prints goes to standard error. The exit code is 1 if a call fails.

If there are several parents, each answer is a YAML document with the name of its parent in a comment. Then a child belongs
to the parent that its ownerReferences name; other children are ignored.

The kinds of Kubernetes are known. For a child of another kind, also pass the CustomResourceDefinition with -f, unless
the files contain an object of this kind, or the directory of the controller has a file crd.yaml. With the
CustomResourceDefinition of the parent, its defaults are set. With --cluster, the command uses the kinds of a cluster.

The objects in the files, the children and the status in the answer are validated. What the API server would reject or
drop is printed as a warning to standard error; the exit code is still 0. "metascript test" treats it as an error. At most
20 warnings are printed for an answer, and then how many more there are.

Characters that could hide or forge output, such as control characters, are escaped, in the answer as in YAML or JSON.

With --output json or yaml, the output is an object with the list results. Each result has parent (apiVersion, kind,
namespace and name), and answer, or error if the call failed, and warnings. The same errors and warnings are in diagnostics,
with severity, file, line, column, field, message and hint.`,
		Example: `  metascript run -f controller.yaml --parent parent.yaml
  metascript run -f examples/pythonlambda/controller.yaml --parent examples/pythonlambda/parent.yaml
  metascript run -f controller.yaml --parent 'parents/*.yaml' --children pods.yaml -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHook(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files, directories or quoted patterns such as "*.yaml" with the controller, and with CustomResourceDefinitions; "-" is standard input`)
	flags.StringVar(&f.controller, "controller", "", "name of the controller, if the files have several")
	flags.StringSliceVar(&f.parents, "parent", nil, "files, directories or quoted patterns with the parents")
	flags.StringSliceVar(&f.children, "children", nil, "files, directories or quoted patterns with the observed children")
	flags.StringSliceVar(&f.related, "related", nil, "files, directories or quoted patterns with other objects, from which the customize hook selects")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the parents, children and related objects whose files have none")
	flags.BoolVar(&f.finalizing, "finalizing", false, "call the finalize hook")
	flags.StringVar(&f.now, "now", "", "the time that the script sees as request.now, such as 2026-01-02T15:04:05Z; defaults to the current time")
	f.output.Register(flags)
	f.schemas.Register(flags)
	f.sandbox.Register(flags)
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagRequired("parent")
	return cmd
}

// A runResult is the result of a call about one parent.
type runResult struct {
	Parent struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace,omitempty"`
		Name       string `json:"name"`
	} `json:"parent"`
	Answer   map[string]any `json:"answer,omitempty"`
	Error    string         `json:"error,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`

	Diagnostics []place.Diagnostic `json:"diagnostics,omitempty"` // the error and the warnings with their places

	about string // kind and name of the parent
}

// runResults is the output of the command run for programs.
type runResults struct {
	Results []runResult `json:"results"`
}

// runHook prints only answers to standard output, so that another program can read them. It prints warnings, errors and what the
// script prints to standard error.
func runHook(cmd *cobra.Command, f *runFlags) error {
	if err := manifest.CheckScriptsDirs(f.sandbox.Folders); err != nil {
		return err
	}
	calls, strays, err := f.calls(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.Open(nil, manifest.NeedWorkers([]manifest.Document{calls[0].Controller}))
	if err != nil {
		return err
	}
	defer sandbox.Close()
	printWarnings(cmd.ErrOrStderr(), place.FirstTexts(append(check.Warnings(calls[0].Controller, sandbox, calls[0].Schemas), strays...)))
	var all runResults
	failed := 0
	for i, call := range calls {
		result, err := callHook(cmd.Context(), call, sandbox, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		all.Results = append(all.Results, result)
		if result.Error != "" {
			failed++
		}
		if f.output.IsText() {
			if err := result.print(cmd, i, len(calls)); err != nil {
				return err
			}
		}
	}
	if !f.output.IsText() {
		if err := f.output.Print(cmd.OutOrStdout(), all); err != nil {
			return err
		}
	}
	// After the calls, since the error of a script that does not compile is complete only the first time.
	checker := check.Checker{Schemas: calls[0].Schemas, Sandbox: sandbox, Sources: calls[0].Sources}
	printWarnings(cmd.ErrOrStderr(), place.FirstTexts(checker.ScriptWarnings(cmd.Context(), calls[0].Controller)))
	switch {
	case failed > 0 && len(calls) == 1:
		return errors.New(all.Results[0].Error)
	case failed > 0:
		return fmt.Errorf("%d of %d calls failed", failed, len(calls))
	}
	return nil
}

// callHook does a call, and returns its result. It prints the warnings about the objects and the answer to log. An error of the call is in
// the result; callHook returns an error if a schema cannot be used.
func callHook(ctx context.Context, call *hookcall.Call, in *sandbox.Sandbox, log io.Writer) (runResult, error) {
	r := runResult{about: object.Describe(call.Parent.Object)}
	p := &r.Parent
	p.APIVersion, p.Kind, p.Namespace, p.Name = call.Parent.GetAPIVersion(), call.Parent.GetKind(), call.Parent.GetNamespace(), call.Parent.GetName()
	answer, failed, err := call.DoChecked(ctx, in, log, func(warnings []*place.Error) { r.warn(log, warnings) })
	switch {
	case err != nil:
		return r, err
	case failed != nil:
		r.Error, r.Diagnostics = engine.DetailOf(failed), append(r.Diagnostics, place.Diagnostics(failed, "error")...)
	default:
		r.Answer = answer.Document()
		printSpellings(log, answer.Children)
	}
	return r, nil
}

// printSpellings prints which values of children the API server stores in another form with the same meaning, a line for each child.
func printSpellings(log io.Writer, children *object.Set) {
	if children == nil {
		return
	}
	var lines []string
	for child := range children.Added() {
		stored := memapi.Stored(child)
		if stored == nil {
			continue
		}
		var texts []string
		for _, s := range plan.Spellings(stored, child) {
			if s.Same && s.Stored != nil {
				texts = append(texts, s.Text(func(text string) string { return text }))
			}
		}
		if len(texts) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s", object.Describe(child), strings.Join(texts, ", ")))
		}
	}
	for _, line := range place.FirstTexts(lines) {
		fmt.Fprintln(log, line)
	}
}

// warn adds warnings to a result, and prints them to log.
func (r *runResult) warn(log io.Writer, warnings []*place.Error) {
	texts := place.Texts(warnings)
	printWarnings(log, texts)
	r.Warnings = append(r.Warnings, texts...)
	for _, e := range warnings {
		r.Diagnostics = append(r.Diagnostics, e.Diagnostic("warning"))
	}
}

// print prints the i-th of n results for people. If there is only one, its error is that of the command.
func (r *runResult) print(cmd *cobra.Command, i, n int) error {
	if n > 1 {
		if r.Error != "" {
			_, err := fmt.Fprintln(cmd.ErrOrStderr(), style.For(cmd.ErrOrStderr()).Failure(r.about+": "+r.Error))
			return err
		}
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "---")
		}
		fmt.Fprintln(cmd.OutOrStdout(), "# "+strings.ReplaceAll(r.about, "\n", " ")) // a name in a file may contain anything
	}
	if r.Error != "" {
		return nil
	}
	text, err := output.YAML(r.Answer)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// calls returns a call for each parent in the files, and warnings about children of none of several parents. It reads all files before it checks that there is a controller and a parent, since
// a file that cannot be read may have them.
func (f *runFlags) calls(ctx context.Context, stdin io.Reader) (calls []*hookcall.Call, warnings []string, err error) {
	docs, err := manifest.Read(f.files, stdin)
	if err != nil {
		return nil, nil, err
	}
	neighbors, err := manifest.Neighbors(docs)
	if err != nil {
		return nil, nil, err
	}
	definitions := append(neighbors, docs...)
	if err := check.Definitions(definitions); err != nil {
		return nil, nil, err
	}
	crds, err := manifest.CRDs(definitions)
	if err != nil {
		return nil, nil, err
	}
	known, err := f.schemas.Schemas(ctx, crds...)
	if err != nil {
		return nil, nil, err
	}
	parents, err := manifest.Read(f.parents, stdin)
	if err != nil {
		return nil, nil, err
	}
	children, err := manifest.Read(f.children, stdin)
	if err != nil {
		return nil, nil, err
	}
	related, err := manifest.Read(f.related, stdin)
	if err != nil {
		return nil, nil, err
	}
	controller, err := chooseController(docs, f.files, f.controller)
	if err != nil {
		return nil, nil, err
	}
	if len(parents) == 0 && len(f.parents) == 1 && filepath.Ext(f.parents[0]) != "" {
		return nil, nil, fmt.Errorf("--parent: %s is empty: want an object, with apiVersion and kind", f.parents[0])
	}
	if len(parents) == 0 {
		return nil, nil, fmt.Errorf("--parent has no objects%s", manifest.HintNested(f.parents))
	}
	if f.namespace != "" {
		for _, doc := range slices.Concat(parents, children, related) {
			if r, ok := known.Kinds().ByKind(doc.GroupVersionKind()); doc.GetNamespace() == "" && (!ok || r.Namespaced) {
				doc.SetNamespace(f.namespace)
			}
		}
	}
	for _, parent := range parents {
		own := children
		if len(parents) > 1 {
			own = copies(childrenOf(parent, children))
		}
		calls = append(calls, &hookcall.Call{
			Controller: controller, Parent: parent, Children: own, Related: copies(related), Finalizing: f.finalizing, Now: f.now,
			Schemas: known, Sources: manifest.ScriptSources(f.sandbox.Folders, docs),
		})
	}
	for _, child := range children {
		if len(parents) > 1 && !slices.ContainsFunc(parents, func(parent manifest.Document) bool { return len(childrenOf(parent, []manifest.Document{child})) > 0 }) {
			warnings = append(warnings, fmt.Sprintf("%s: %s is ignored: its ownerReferences name none of the parents", child.File, object.Describe(child.Object)))
		}
	}
	return calls, warnings, nil
}

// chooseController returns the controller among documents, which were read from files: the only one, or that of the flag --controller.
func chooseController(docs []manifest.Document, files []string, chosen string) (manifest.Document, error) {
	found := manifest.Controllers(docs)
	if len(found) == 0 {
		return manifest.Document{}, manifest.NoControllers(files, docs)
	}
	var names, lines []string
	for _, doc := range found {
		if doc.GetName() == chosen || chosen == "" && len(found) == 1 {
			return doc, nil
		}
		names = append(names, doc.GetName())
		lines = append(lines, doc.File+": "+object.Describe(doc.Object))
	}
	if chosen != "" {
		return manifest.Document{}, fmt.Errorf("--controller %q: want %s", chosen, engine.OneOf(chosen, names))
	}
	return manifest.Document{}, fmt.Errorf("there are %d controllers: %s\n  hint: choose one with --controller, such as --controller %s",
		len(found), strings.Join(lines, ", "), names[0])
}

// childrenOf returns the children whose ownerReferences name a parent.
func childrenOf(parent manifest.Document, children []manifest.Document) []manifest.Document {
	var own []manifest.Document
	for _, child := range children {
		sameNamespace := parent.GetNamespace() == "" || cmp.Or(child.GetNamespace(), metav1.NamespaceDefault) == parent.GetNamespace()
		if sameNamespace && slices.ContainsFunc(child.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
			return ref.Kind == parent.GetKind() && ref.Name == parent.GetName()
		}) {
			own = append(own, child)
		}
	}
	return own
}

// copies returns copies of documents, since a call modifies its objects.
func copies(docs []manifest.Document) []manifest.Document {
	var all []manifest.Document
	for _, doc := range docs {
		all = append(all, doc.Copy())
	}
	return all
}

// printWarnings prints a line for each warning.
func printWarnings(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, style.For(w).Warning("warning: "+warning))
	}
}
