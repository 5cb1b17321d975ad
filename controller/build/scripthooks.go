package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/random"
	"metascript/engine"
	"metascript/scripts"
)

// compiled is a script that was compiled.
type compiled struct {
	engine.Program
	entry string // the file name that errors show
	timed bool   // see mayReadTime
}

// defines reports whether the script has a function of that name. It is false if c is nil.
func (c *compiled) defines(name string) bool {
	return c != nil && slices.Contains(c.Functions(), name)
}

// place returns the position of a function, or else the name of the entry.
func (c *compiled) place(function string) string {
	if program, ok := c.Program.(engine.Placed); ok && program.Place(function).Line > 0 {
		return program.Place(function).String()
	}
	return c.entry
}

// ported reports whether the program has Metacontroller's form: one function, without a name, for all hooks.
func ported(p engine.Program) bool {
	program, ok := p.(engine.Ported)
	return ok && program.Ported()
}

// form returns the form of spec.script. While the script is not loaded, this is namedFunctions.
func (w *building) form() scriptForm {
	if w.own != nil && ported(w.own.Program) {
		return oneFunction
	}
	return namedFunctions
}

// compile compiles the part of that name.
func (w *building) compile(ctx context.Context, name string, limits engine.Limits) (*compiled, error) {
	if err := w.missing.reason(name); err != nil {
		return nil, err
	}
	part := w.parts[name]
	program, err := w.compilePart(ctx, part, limits)
	if missesFile(err) {
		// The part has only the files that the script seems to need. With all files that it may load, either the file is found,
		// or the error can name a similar one.
		if all, unread := w.Sources.Assemble(w.wanted[name], true); unread == nil {
			part = all
			program, err = w.compilePart(ctx, part, limits)
		}
	}
	if err != nil {
		return nil, w.Sandbox.explain(err, limits)
	}
	return &compiled{program, part.Entry, mayReadTime(program, part.Files)}, nil
}

func (w *building) compilePart(ctx context.Context, part scripts.Assembled, limits engine.Limits) (engine.Program, error) {
	script := part.Script
	script.Tenant, script.Owner = w.declaration.Tenant(), w.owner
	return w.engine.Compile(ctx, script, limits)
}

// missesFile reports whether err says that a script loads a file that does not exist.
func missesFile(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Kind == engine.KindModule
}

// listedScript makes a hook that spec.hooks lists with a script: its own script, or a function of spec.script.
func (w *building) listedScript(ctx context.Context, name string, set *v1alpha1.Hook) (hook.Hook, error) {
	function := cmp.Or(set.Script.Function, name)
	settings, script := set.Script.ScriptSource, w.own
	if w.script != nil {
		inherit(&settings, w.script.ScriptSource)
	}
	if hasSource(settings) {
		var err error
		if script, err = w.compile(ctx, name, w.limits(settings, w.script)); err != nil {
			return nil, fmt.Errorf("%s: %w", SpecPath(name), err)
		}
	}
	if why := w.missing.reason(""); script == nil && why != nil {
		return nil, why
	}
	if script == nil {
		return nil, fmt.Errorf("hooks.%s.script names the function %s, and there is no script to find it in", name, function)
	}
	if !ported(script.Program) && !script.defines(function) {
		return nil, &functionError{fmt.Errorf("hooks.%s: %s defines no function %s; it defines %s", name, script.entry, function, list(script.Functions()))}
	}
	return w.scriptHook(name, function, set, settings, script), nil
}

// inherit sets the timeout and the limits that a hook's script does not set itself to those of spec.script.
func inherit(settings *v1alpha1.ScriptSource, from v1alpha1.ScriptSource) {
	if settings.Timeout == nil {
		settings.Timeout = from.Timeout
	}
	if from.Limits == nil {
		return
	}
	limits := v1alpha1.ScriptLimits{}
	if settings.Limits != nil {
		limits = *settings.Limits
	}
	limits.Steps = cmp.Or(limits.Steps, from.Limits.Steps)
	limits.Memory = cmp.Or(limits.Memory, from.Limits.Memory)
	limits.Output = cmp.Or(limits.Output, from.Limits.Output)
	settings.Limits = &limits
}

// scriptHook makes a hook that calls a function of a script. The hook must not refer to w: w refers to the hooks that ran
// before, so all earlier versions would stay in memory.
func (w *building) scriptHook(name, function string, set *v1alpha1.Hook, settings v1alpha1.ScriptSource, script *compiled) hook.Hook {
	limits, sandbox, log := w.limits(settings, w.script), w.Sandbox, w.Log
	made := &hook.Script{
		Program: script.Program, Name: script.entry, Function: function, Tenant: w.declaration.Tenant(), Owner: w.owner,
		Version: VersionOf(set, w.script), Limits: limits, Now: w.Now, Timed: script.timed,
		RefuseMissing: w.MissingChildren == v1alpha1.MissingChildrenHold,
		Explain:       func(err error) error { return sandbox.explain(err, limits) },
	}
	if sandbox.Random != nil {
		made.Key = keyFor(sandbox.Random, random.Subject{Controller: w.declaration.ID(), Account: account.Of(w.declaration.Settings.ServiceAccount)})
	}
	if w.Observe != nil {
		made.Observe = w.Observe(name)
	}
	if log != nil {
		made.Log = func(req *hook.Request, m engine.Message) { log(name, req, m) }
	}
	return made
}

// keyFor returns the function that returns the key of random values for a parent.
func keyFor(source random.Source, of random.Subject) func(context.Context, *object.Object) ([]byte, error) {
	return func(ctx context.Context, parent *object.Object) ([]byte, error) {
		key, err := source.Key(ctx)
		if err != nil {
			return nil, err
		}
		return key.For(of, parent)
	}
}

// VersionOf returns the protocol version of a hook: its own if spec.hooks lists it, or else that of spec.script. The default is
// v1. set is the entry in spec.hooks, script is spec.script; each may be nil.
func VersionOf(set *v1alpha1.Hook, script *v1alpha1.ControllerScript) string {
	switch {
	case set != nil && set.Version != "":
		return string(set.Version)
	case set == nil && script != nil && script.Version != "":
		return string(script.Version)
	}
	return hook.V1
}

// list returns the names of functions as text.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// timeWords match what a script has to write to see the time: the key now of the request, or Date of JavaScript. Starlark's module
// time has no clock, and Jsonnet has none. globalThis and the escapes can hide these words: a global that is found by its name, and a
// name with escaped letters. No script can run a text as code.
var timeWords = regexp.MustCompile(`\b(now|Date|globalThis)\b|\\[uUxX]|\\[0-7]`)

// mayReadTime reports whether a script may read the time: one of its files has one of timeWords, and the program does not know that the
// file does not read it, since the word is only in a comment or in a sentence. It errs towards true: a script with such a word is called in
// each resync, as it would be without remembering.
//
// A script can still see the time without such a word, if it goes through all keys of the request. An answer that has the time
// itself is another one in each call, so that it is written each time, and nothing is remembered. For an answer that seldom changes, the
// controls of package remember are the last resort.
func mayReadTime(program engine.Program, files fs.FS) bool {
	known, isTimed := program.(engine.Timed)
	found := false
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || found {
			return err
		}
		text, err := fs.ReadFile(files, path)
		found = timeWords.Match(text) && (!isTimed || known.MayReadTime(path))
		return err
	})
	return found || err != nil
}

// remembers computes Hooks.Remembers. A webhook is called in each resync, since it may answer something else each time; so is a script
// with a webhook as its fallback.
func (w *building) remembers() bool {
	if w.AlwaysResync || w.script != nil && w.script.Remember != nil && !*w.script.Remember {
		return false
	}
	return timeless(w.built.Sync) && (w.built.Customize == nil || timeless(w.built.Customize))
}

// timeless reports whether a hook is a script that does not see the time.
func timeless(h hook.Hook) bool {
	s, isScript := h.(*hook.Script)
	return isScript && !s.Timed
}
