package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/replay"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/recording"
)

// replayFlags are the flags of the command replay.
type replayFlags struct {
	files, expect                 []string
	controller, namespace, parent string
	call, memory                  int
	caseDir                       string
	output                        output.Format
	sandbox                       sandbox.Flags
	schemas                       schemaflags.Flags
}

// replayCommand returns the command replay. Its help is the reference of --expect.
func replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:        "replay RECORDING -f controller.yaml",
		SuggestFor: []string{"rerun", "backtest", "playback"},
		Short:      "Call an edited script again with recorded requests, and show what it answers differently",
		Long: `Make each call of a recording again, with the script of an edited controller, and compare the answers with the recorded ones.
The command needs no cluster and writes nothing. It shows what the edit changes, for which parents, and what the server would
do: which children it would delete, recreate, roll, update or create. Deletions come first.

Each call gets the recorded request, also the recorded request.now, and the recorded limits, unless the controller sets others; but
not more than the maxima in the flags.
A difference that the recorded script itself now gives too is not one of the edit, and is counted separately. Some calls are
made twice, to find scripts that do not answer the same each time.

Differences are grouped by their shape, with one example each. --expect names differences that are intended. It can be
repeated, and is one of these, or the beginning of one:

  Pod spec.containers[*].image    a field of the children of a kind
  Pod added, Pod removed          whole children
  deletes                         all children that are removed
  status.phase                    a field of the status
  resyncAfterSeconds              and the other fields: finalized, events, labels, annotations, relatedResources, warnings
  order of the children
  error missing key               an error of the script, and with "no error", one that is gone
  errors                          all errors
  not replayed                    calls that could not be replayed
  varying                         a script that answers the same call differently

The exit code is 0 if all answers are the same, or each difference is expected. It is 1 if not, also if a call could not be
replayed, and if the recording cannot be read.

With --case, nothing is compared. The call of --call, or else the last call about --parent, is written as a case of
"metascript test" into DIR/cases. If DIR has no controller.yaml, the recorded controller is written too.

With --output json or yaml, the output is an object with the numbers calls, parents, same, kept, unrelated, different, changed
(parents), redacted and unexpected, and the lists effects, differences and notReplayed.`,
		Example: `  metascript replay hour.jsonl.gz -f controller.yaml
  metascript replay hour.jsonl.gz -f controller.yaml --expect 'Pod spec.containers[*].image'
  metascript replay hour.jsonl.gz -f controller.yaml -n default --parent web
  metascript replay hour.jsonl.gz -f controller.yaml --call 17 --case .`,
		Args: arguments.One("a recording"),
		RunE: func(cmd *cobra.Command, args []string) error { return runReplay(cmd, args[0], &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files, directories or quoted patterns such as "*.yaml" with the edited controller, and with CustomResourceDefinitions; "-" is standard input`)
	flags.StringVar(&f.controller, "controller", "", "name of the controller, if the files have several")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "replay only the calls about parents in this namespace")
	flags.StringVar(&f.parent, "parent", "", "replay only the calls about parents of this name; also KIND/NAME")
	flags.IntVar(&f.call, "call", 0, "replay only the call with this number, as the output shows it")
	flags.StringArrayVar(&f.expect, "expect", nil, "a difference that is intended, such as 'Pod spec.containers[*].image'; can be repeated")
	flags.StringVar(&f.caseDir, "case", "", "write the call as a case of \"metascript test\" into this directory, and compare nothing")
	flags.IntVar(&f.memory, "memory", recording.DefaultMemory>>20, "limit in MiB for the recorded objects that are in memory at a time")
	f.output.Register(flags)
	f.schemas.Register(flags)
	f.sandbox.Register(flags)
	_ = cmd.MarkFlagRequired("filename")
	cmd.MarkFlagsMutuallyExclusive("case", "expect")
	return cmd
}

// errAnswersDiffer makes the exit code 1 after the differences were printed.
var errAnswersDiffer = errors.New("not every answer is the recorded one")

func runReplay(cmd *cobra.Command, file string, f *replayFlags) error {
	if err := manifest.CheckScriptsDirs(f.sandbox.Folders); err != nil {
		return err
	}
	if f.caseDir != "" && f.call == 0 && f.parent == "" {
		return errors.New("--case needs the call: add --call with its number, or --parent for the last call about this parent")
	}
	docs, err := manifest.Read(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	controller, err := chooseController(docs, f.files, f.controller)
	if err != nil {
		return err
	}
	options, err := f.options(cmd.Context(), docs, controller)
	if err != nil {
		return err
	}
	if options.File, err = recording.Open(file, int64(f.memory)<<20); err != nil {
		return err
	}
	// The recorded scripts may need worker processes too, which the new one does not.
	workers := manifest.NeedWorkers([]manifest.Document{controller}) || replay.NeedsWorkers(options.File)
	sandbox, err := f.sandbox.Open(nil, workers)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	options.Sandbox = sandbox.Sandbox
	if f.caseDir != "" {
		return f.writeCase(cmd, options)
	}
	report, err := replay.Run(cmd.Context(), options)
	if err != nil {
		return manifest.ScriptSources(f.sandbox.Folders, docs).Located(controller, err)
	}
	return f.print(cmd, report)
}

// options returns the options of the replay, without the recording and the sandbox.
func (f *replayFlags) options(ctx context.Context, docs []manifest.Document, controller manifest.Document) (replay.Options, error) {
	neighbors, err := manifest.Neighbors(docs)
	if err != nil {
		return replay.Options{}, err
	}
	definitions := append(neighbors, docs...)
	if err := check.Definitions(definitions); err != nil {
		return replay.Options{}, err
	}
	crds, err := manifest.CRDs(definitions)
	if err != nil {
		return replay.Options{}, err
	}
	known, err := f.schemas.Schemas(ctx, crds...)
	if err != nil {
		return replay.Options{}, err
	}
	sources := manifest.ScriptSources(f.sandbox.Folders, docs)
	return replay.Options{
		Controller: controller.Object, Sources: sources.Sources, Kinds: known.Kinds(),
		Namespace: f.namespace, Parent: f.parent, Call: f.call, Expect: f.expect,
		Locate: func(err error) error { return sources.Located(controller, err) },
	}, nil
}

// print prints a report. Its error says that there are differences that are not expected.
func (f *replayFlags) print(cmd *cobra.Command, report *replay.Report) error {
	out := cmd.OutOrStdout()
	if f.output.IsText() {
		fmt.Fprint(out, report.Text(style.For(out)))
	} else if err := f.output.Print(out, report); err != nil {
		return err
	}
	if report.Unexpected > 0 {
		return errAnswersDiffer
	}
	return nil
}

// writeCase writes the case of a call.
func (f *replayFlags) writeCase(cmd *cobra.Command, options replay.Options) error {
	files, warnings, err := replay.WriteCase(cmd.Context(), options, f.caseDir)
	if err != nil {
		return err
	}
	printWarnings(cmd.ErrOrStderr(), warnings)
	fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", strings.Join(files, ", "))
	return nil
}
