// Package build makes the hooks of a controller object. It reads the scripts from their sources and compiles them, and it
// prepares the calls of webhooks.
//
// A good order to read it: builder.go ([Builder.Build] makes all hooks) and hooks.go (the result). Then parts.go and digest.go
// (scripts that were read), scripthooks.go and sandbox.go (hooks that are scripts), webhooks.go, endpoint.go and
// credentials.go (hooks that are webhooks). partial.go and failing.go are about scripts that do not load and hooks that are
// missing. candidate.go and scriptversion.go are about versions of a controller.
package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/bodies"
	"metascript/controller/hook"
	"metascript/controller/reach"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// ErrNoHooks is the error for a controller without spec.script and spec.hooks. The text is Metacontroller's.
var ErrNoHooks = errors.New("no hooks defined")

// A Builder makes the hooks of a controller object. It can be copied.
type Builder struct {
	// Sandbox has the engines that run scripts, and their limits.
	Sandbox *Sandbox
	// Sources are where scripts in files and ConfigMaps are read.
	Sources scripts.Sources
	// Before has the hooks that run now. Their webhooks, with connections and metrics, are used again. It is nil if nothing
	// runs, or if the settings of the webhooks may have changed.
	Before *Built
	// Log is called for each message that a script prints during a call. If it is nil, messages are dropped.
	Log func(hookName string, req *hook.Request, m engine.Message)
	// Now returns request.now for scripts. If it is nil, this is the current time.
	Now func() time.Time
	// Observe returns a function that is called after each call of the script of that hook. If Observe is nil, calls are not
	// observed.
	Observe func(hookName string) func(took time.Duration, err error)

	// Shadow says that the hooks are those of spec.shadow. Their calls take turns with those of the hooks that run, like those of
	// another controller.
	Shadow bool

	// MissingChildren is the default for webhooks that do not set missingChildren. It also applies to scripts in
	// Metacontroller's form.
	MissingChildren v1alpha1.MissingChildren
	// AlwaysResync says that no controller remembers; see Hooks.Remembers.
	AlwaysResync bool
	// ProbeEvery is how often a broken script with a fallback is probed; see [hook.Fallback].
	ProbeEvery time.Duration

	// Networks limits the webhooks of controllers with an account; nil: they are not limited.
	Networks *reach.Networks
	// InFlight limits the memory of all webhook responses that are being read. If it is nil, there is no common limit.
	InFlight *bodies.Budget
	// Cached limits the memory of all webhook responses that are cached by their ETags. If it is nil, there is no common
	// limit.
	Cached *bodies.Budget
}

// Build makes the hooks of d from its scripts, which were read before. A script that does not compile is an error with an
// [*engine.Error] in it.
func (b *Builder) Build(ctx context.Context, d *spec.Declaration, parts Parts) (Built, error) {
	return b.build(ctx, d, parts, nil)
}

// build is Build, except that scripts may be missing if missing is not nil.
func (b *Builder) build(ctx context.Context, d *spec.Declaration, parts Parts, missing *missingScripts) (Built, error) {
	w := b.newBuilding(d, parts, missing)
	err := w.run(ctx)
	return w.built, err
}

// ReadAndBuild reads the scripts of d from their sources and makes the hooks. The warnings about the sources are among those
// of the result.
func (b *Builder) ReadAndBuild(ctx context.Context, d *spec.Declaration) (Built, error) {
	parts, err := b.read(d)
	if err != nil {
		return Built{}, err
	}
	built, err := b.Build(ctx, d, parts)
	built.Warnings = append(built.Warnings, parts.Warnings()...)
	return built, err
}

// A building is one call of Build: what it reads, and what it has made so far.
type building struct {
	*Builder
	declaration *spec.Declaration
	script      *v1alpha1.ControllerScript // spec.script, or nil
	parts       Parts
	wanted      map[string]scripts.Wanted // the sources of parts
	owner       string                    // of the scripts: the controller object, see engine.Script
	missing     *missingScripts           // nil: it is an error if a script does not load

	engine engine.Runtime // runs the scripts; nil if there are none
	own    *compiled      // spec.script compiled; nil if there is none, or if it does not load

	usedEntries map[int]bool  // the indexes of the endpointConfigs that apply to a webhook
	inFlight    *bodies.Share // of InFlight, for all webhooks of this controller or its tenant; nil if InFlight is nil

	built Built
}

func (b *Builder) newBuilding(d *spec.Declaration, parts Parts, missing *missingScripts) *building {
	w := &building{
		Builder: b, declaration: d, script: d.Script, parts: parts, wanted: b.Wanted(d), owner: d.ID().Owner(),
		missing: missing, usedEntries: map[int]bool{},
	}
	if b.Shadow {
		w.owner += shadowSuffix
	}
	w.built = Built{Clients: WebhookClients{Credentials: newCredentials()}, webhooks: map[string]*hook.Webhook{}}
	if account := d.Settings.ServiceAccount; account != nil && b.Networks != nil {
		w.built.Clients.tenant = &reach.Tenant{Namespace: account.Namespace, Networks: b.Networks}
	}
	if b.Before != nil {
		w.built.Clients, w.built.webhooks = b.Before.Clients, b.Before.webhooks
	}
	if b.InFlight != nil {
		w.inFlight = b.InFlight.ShareOf(d.Tenant())
	}
	return w
}

// run makes the hooks, checks them, and describes the scripts.
func (w *building) run(ctx context.Context) error {
	if err := w.compileOwn(ctx); err != nil {
		return err
	}
	for _, h := range []struct {
		name string
		made *hook.Hook
	}{{hook.Sync, &w.built.Sync}, {hook.Finalize, &w.built.Finalize}, {hook.Customize, &w.built.Customize}} {
		var err error
		if *h.made, err = w.hook(ctx, h.name, w.declaration.Hook(h.name)); err != nil {
			return err
		}
	}
	slices.Sort(w.built.Names)
	w.warn(w.unusedEntries()...)
	if err := w.checkSync(); err != nil {
		return err
	}
	w.built.remembers, w.built.tagged = w.remembers(), w.tagged()
	var err error
	if w.built.Status, err = w.parts.status(w.built.Names); err == nil && !w.missing.any() {
		w.built.Digest, err = w.parts.versionDigest()
	}
	return err
}

func (w *building) warn(warnings ...string) { w.built.Warnings = append(w.built.Warnings, warnings...) }

// compileOwn chooses the engine for all scripts, and compiles spec.script if there is one.
func (w *building) compileOwn(ctx context.Context) (err error) {
	if w.declaration.HasScript() {
		w.built.Isolation = w.Sandbox.isolation(w.declaration, w.parts)
		if w.engine, err = w.Sandbox.engine(w.built.Isolation); err != nil {
			return err
		}
	}
	if w.script == nil {
		return nil
	}
	if w.own, err = w.compile(ctx, "", w.limits(w.script.ScriptSource, w.script)); err != nil {
		if err = w.missing.add("", err); err != nil {
			return err
		}
	}
	w.built.form = w.form()
	return nil
}

// hook makes the hook of that name, and adds the name to built.Names. It returns nil if there is no such hook. set is the
// entry in spec.hooks, or nil.
func (w *building) hook(ctx context.Context, name string, set *v1alpha1.Hook) (hook.Hook, error) {
	made, err := w.makeHook(ctx, name, set)
	if err != nil {
		return nil, err
	}
	if made != nil {
		w.built.Names = append(w.built.Names, name)
	}
	return made, nil
}

func (w *building) makeHook(ctx context.Context, name string, set *v1alpha1.Hook) (hook.Hook, error) {
	switch {
	case set == nil || set.Script == nil && set.Webhook == nil:
		return w.functionHook(name, set)
	case spec.FallsBack(set):
		return w.fallback(ctx, name, set)
	case set.Script != nil:
		made, err := w.listedScript(ctx, name, set)
		if err != nil {
			return w.withoutScript(name, err)
		}
		return made, nil
	}
	return w.webhook(name, set)
}

// functionHook makes a hook that spec.hooks does not list, or lists without a script and a webhook: the function of the same
// name in spec.script, if there is one.
func (w *building) functionHook(name string, set *v1alpha1.Hook) (hook.Hook, error) {
	switch {
	case w.own.defines(name):
		return w.scriptHook(name, name, set, w.script.ScriptSource, w.own), nil
	case w.mayDefine(name):
		return w.withoutScript(name, w.missing.reason(""))
	case set != nil:
		w.warn(fmt.Sprintf("hooks.%s is empty and is ignored: give it a webhook or a script", name))
	}
	return nil, nil
}

// checkSync checks that there is a sync hook, or that a finalize hook alone is enough.
func (w *building) checkSync() error {
	switch {
	case w.built.Sync != nil:
		return nil
	case w.own != nil && w.misspelledSync() != "":
		return &functionError{fmt.Errorf("%s: it defines no function sync: did you mean %s? Call it sync, or name it in hooks.sync.script.function", w.own.place(w.misspelledSync()), w.misspelledSync())}
	case w.built.Finalize != nil:
		if w.declaration.Hook(hook.Finalize) == nil {
			w.warn(fmt.Sprintf("%s defines no function sync: parents are finalized, and otherwise not changed; if this is intended, set hooks.finalize.script: {}", w.own.entry))
		}
		return nil
	case w.own != nil:
		return &functionError{fmt.Errorf("%s: it defines no function sync and no function finalize; it defines %s", w.own.entry, list(w.own.Functions()))}
	case w.declaration.Hooks == nil:
		return ErrNoHooks
	}
	w.built.Sync = w.missingSync()
	return nil
}

// misspelledSync returns a function of spec.script whose name is similar to sync, or "".
func (w *building) misspelledSync() string {
	others := slices.DeleteFunc(slices.Clone(w.own.Functions()), func(name string) bool { return name == hook.Finalize || name == hook.Customize })
	return engine.Nearest(hook.Sync, others)
}

// A functionError says that a script does not define a function that a hook needs.
type functionError struct{ error }

// IsScriptError reports whether err, an error of loading hooks, is about a script or its source, and not about the rest of the
// spec.
func IsScriptError(err error) bool {
	var inScript *engine.Error
	var function *functionError
	var source *scripts.Error
	return errors.As(err, &inScript) || errors.As(err, &function) || errors.As(err, &source)
}
