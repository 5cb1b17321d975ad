package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/bodies"
	"metascript/controller/hook"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// errNoHooks is Metacontroller's text for a controller that asks nobody.
var ErrNoHooks = errors.New("no hooks defined")

// Built are the hooks of one controller object.
type Built struct {
	Sync, Finalize, Customize hook.Hook

	Names     []string              // of the hooks there are, sorted
	Isolation v1alpha1.Isolation    // that scripts have; "" without one
	Digest    string                // of the scripts, by which revisions refer to them; "" without one, or if some are not loaded
	form      ScriptForm            // of spec.script
	Missing   string                // why some scripts are not loaded, and webhooks alone answer; "": all are
	Status    v1alpha1.ScriptStatus // about the scripts, without times; zero without scripts
	Warnings  []string              // what is accepted and probably not meant
	Clients   WebhookClients        // of webhooks

	webhooks map[string]*hook.Webhook // by the name of their hook
}

// A FunctionError says that a script does not define a function that a hook needs.
type FunctionError struct{ error }

// A Loader makes the hooks of a controller object.
type Loader struct {
	Sandbox *Sandbox
	Sources scripts.Sources
	Partial *MissingParts // nil: all scripts must load
	Before  *Built        // whose webhooks serve on; nil: there are none, or their settings may have changed
	Log     func(hookName string, req *hook.Request, m engine.Message)
	Now     func() time.Time
	Observe func(hookName string) func(took time.Duration, err error) // of calls of scripts; nil: nobody is told

	MissingChildren v1alpha1.MissingChildren // of webhooks that do not say it
	ProbeEvery      time.Duration            // see hook.Fallback

	InFlight *bodies.Budget // of webhooks' answers in flight; nil: they are not bounded together
	Cached   *bodies.Budget // of those that are kept by their ETags, likewise
}

// A compiled script knows the name under which errors show it.
type compiled struct {
	engine.Program
	entry string
}

// defines reports whether hooks of that name are served by the script's function of the same name.
func (c *compiled) defines(name string) bool {
	return c != nil && slices.Contains(c.Functions(), name)
}

// A loading is one spec at work: its own script, compiled, serves the hooks that have none.
type loading struct {
	*Loader
	owner  string                     // of the scripts: the controller object
	engine engine.Runtime             // what runs its scripts, if it has some
	script *v1alpha1.ControllerScript // spec.script, or nil
	parts  Parts
	wants  map[string]scripts.Wanted // of what the parts are
	own    *compiled                 // of script, or nil

	finalizer string
	served    []string // the hooks that there were when the scripts were last loaded

	endpoints   []v1alpha1.EndpointConfig
	usedEntries map[int]bool // which of them are of a webhook
	room        *bodies.Share
}

// Load compiles the scripts of d, which were gathered before, and finds out which hooks there are. A script that does not
// compile is an error with an [*engine.Error] in it.
func (l *Loader) Load(ctx context.Context, d *spec.Declaration, gathered Parts) (Built, error) {
	loaded := Built{Clients: WebhookClients{Credentials: newCredentials()}, webhooks: map[string]*hook.Webhook{}}
	if l.Before != nil {
		loaded.Clients, loaded.webhooks = l.Before.Clients, l.Before.webhooks
	}
	var err error
	work := loading{
		Loader: l, owner: d.ID().Owner(), script: d.Script, endpoints: d.EndpointConfigs, usedEntries: map[int]bool{},
		parts: gathered, wants: l.Wanted(d), finalizer: d.ID().Finalizer(),
	}
	if l.InFlight != nil {
		work.room = l.InFlight.Share()
	}
	if d.Status.Script != nil {
		work.served = d.Status.Script.Hooks
	}
	if d.HasScript() {
		loaded.Isolation = l.Sandbox.Isolation(d.Settings.Isolation)
		if work.engine, err = l.Sandbox.engine(loaded.Isolation); err != nil {
			return loaded, err
		}
	}
	if d.Script != nil {
		if err = work.compileOwn(ctx); err != nil {
			return loaded, err
		}
		loaded.form = work.form()
	}
	for _, h := range []struct {
		name string
		made *hook.Hook
	}{{hook.Sync, &loaded.Sync}, {hook.Finalize, &loaded.Finalize}, {hook.Customize, &loaded.Customize}} {
		if *h.made, err = work.hook(ctx, h.name, d.Hook(h.name), &loaded); err != nil {
			return loaded, err
		}
	}
	slices.Sort(loaded.Names)
	loaded.Warnings = append(loaded.Warnings, work.unusedEntries()...)
	if err := work.check(d, &loaded); err != nil {
		return loaded, err
	}
	if loaded.Status, err = gathered.status(loaded.Names); err == nil && !l.Partial.any() {
		loaded.Digest, err = gathered.versionDigest()
	}
	return loaded, err
}

// Read is gather and load, for those who have no use for what is between them.
func (l *Loader) Read(ctx context.Context, d *spec.Declaration) (Built, error) {
	gathered, err := l.Gather(d)
	if err != nil {
		return Built{}, err
	}
	loaded, err := l.Load(ctx, d, gathered)
	loaded.Warnings = append(loaded.Warnings, gathered.Warnings()...)
	return loaded, err
}

// compileOwn compiles spec.script.
func (w *loading) compileOwn(ctx context.Context) (err error) {
	if w.own, err = w.compile(ctx, "", w.limits(w.script.ScriptSource, w.script)); err != nil {
		return w.Partial.Note("", err)
	}
	return nil
}

// form is that of spec.script, which is taken for one of named functions while it is not loaded.
func (w *loading) form() ScriptForm {
	if w.own != nil && ported(w.own.Program) {
		return oneFunction
	}
	return namedFunctions
}

// compile compiles a part.
func (w *loading) compile(ctx context.Context, name string, limits engine.Limits) (*compiled, error) {
	if err := w.Partial.Part(name); err != nil {
		return nil, err
	}
	part := w.parts[name]
	program, err := w.compilePart(ctx, part, limits)
	if missesFile(err) { // what could be loaded tells more than what was, and may be found after all
		if all, unread := w.Sources.Assemble(w.wants[name], true); unread == nil {
			program, err = w.compilePart(ctx, all, limits)
		}
	}
	if err != nil {
		return nil, w.Sandbox.explain(err, limits)
	}
	return &compiled{program, part.Entry}, nil
}

func (w *loading) compilePart(ctx context.Context, part scripts.Assembled, limits engine.Limits) (engine.Program, error) {
	text := part.Script
	text.Owner = w.owner
	return w.engine.Compile(ctx, text, limits)
}

// check looks at the hooks as a whole.
func (w *loading) check(d *spec.Declaration, loaded *Built) error {
	switch {
	case loaded.Sync != nil:
		return nil
	case w.own != nil && w.misspelt() != "":
		return &FunctionError{fmt.Errorf("%[1]s: it defines no function sync: did you mean %[2]s? Call it sync, or name it in hooks.sync.script.function", w.own.entry, w.misspelt())}
	case loaded.Finalize != nil:
		if d.Hook(hook.Finalize) == nil {
			loaded.Warnings = append(loaded.Warnings, fmt.Sprintf("%s defines no function sync: parents are finalized, and otherwise left alone; list hooks.finalize.script: {} to say that this is meant", w.own.entry))
		}
		return nil
	case w.own != nil:
		return &FunctionError{fmt.Errorf("%s: it defines no function sync, and no function finalize, which can be without it; it defines %s", w.own.entry, list(w.own.Functions()))}
	}
	return w.withoutSync(d, loaded)
}

// misspelt is a function of spec.script that was most likely to be sync, or "".
func (w *loading) misspelt() string {
	others := slices.DeleteFunc(slices.Clone(w.own.Functions()), func(name string) bool { return name == hook.Finalize || name == hook.Customize })
	return engine.Nearest(hook.Sync, others)
}

// hook makes the hook of that name: as it is listed, or by the function of that name in spec.script. It gives nil
// when there is none, and notes in loaded that there is one, or that it is listed without anyone to ask.
func (w *loading) hook(ctx context.Context, name string, set *v1alpha1.Hook, loaded *Built) (made hook.Hook, err error) {
	doubt := ""
	switch {
	case set == nil || set.Script == nil && set.Webhook == nil:
		if w.own.defines(name) {
			made = w.scriptHook(name, name, set, w.script.ScriptSource, w.own)
		} else if w.mayDefine(name) {
			made, err = w.withoutScript(name, w.Partial.Part(""))
		} else if set != nil {
			doubt = fmt.Sprintf("hooks.%s is empty and is left out: give it a webhook or a script", name)
		}
	case spec.FallsBack(set):
		made, err = w.fallback(ctx, name, set, loaded)
	case set.Script != nil:
		if made, err = w.listedScript(ctx, name, set); err != nil {
			made, err = w.withoutScript(name, err)
		}
	default:
		made, err = w.webhook(name, set, loaded)
	}
	if err != nil {
		return nil, err
	}
	if doubt != "" {
		loaded.Warnings = append(loaded.Warnings, doubt)
	}
	if made != nil {
		loaded.Names = append(loaded.Names, name)
	}
	return made, nil
}

// listedScript is a hook with a script of its own, or with a function of spec.script.
func (w *loading) listedScript(ctx context.Context, name string, set *v1alpha1.Hook) (hook.Hook, error) {
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
	if why := w.Partial.Part(""); script == nil && why != nil {
		return nil, why
	}
	if script == nil {
		return nil, fmt.Errorf("hooks.%s.script names the function %s, and there is no script to find it in", name, function)
	}
	if !ported(script.Program) && !script.defines(function) {
		return nil, &FunctionError{fmt.Errorf("hooks.%s: %s defines no function %s; it defines %s", name, script.entry, function, list(script.Functions()))}
	}
	return w.scriptHook(name, function, set, settings, script), nil
}

// inherit fills in the timeout and the limits that a hook's script does not set itself.
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

// scriptHook is a hook that a script answers. It keeps nothing of w, which knows the hooks before it, and they would know those
// before them.
func (w *loading) scriptHook(name, function string, set *v1alpha1.Hook, settings v1alpha1.ScriptSource, script *compiled) hook.Hook {
	limits, sandbox, log := w.limits(settings, w.script), w.Sandbox, w.Log
	made := &hook.Script{
		Program: script.Program, Name: script.entry, Function: function, Owner: w.owner,
		Version: VersionOf(set, w.script), Limits: limits, Now: w.Now,
		Hold:    w.MissingChildren == v1alpha1.MissingChildrenHold,
		Explain: func(err error) error { return sandbox.explain(err, limits) },
	}
	if w.Observe != nil {
		made.Observe = w.Observe(name)
	}
	if log != nil {
		made.Log = func(req *hook.Request, m engine.Message) { log(name, req, m) }
	}
	return made
}

func VersionOf(set *v1alpha1.Hook, script *v1alpha1.ControllerScript) string {
	switch {
	case set != nil && set.Version != "":
		return string(set.Version)
	case set == nil && script != nil && script.Version != "":
		return string(script.Version)
	}
	return hook.V1
}

func ported(p engine.Program) bool {
	foreign, ok := p.(engine.Ported)
	return ok && foreign.Ported()
}

// list names functions for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// IsScriptError reports whether err, of loading hooks, is a fault of a script or of its source, and not of the rest of the
// spec.
func IsScriptError(err error) bool {
	var inScript *engine.Error
	var function *FunctionError
	var source *scripts.Error
	return errors.As(err, &inScript) || errors.As(err, &function) || errors.As(err, &source)
}
