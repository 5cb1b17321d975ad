package offline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/references"
	"metascript/controller/spec"
	"metascript/scripts"
)

// Loaded is a controller object with its hooks.
type Loaded struct {
	Declaration *spec.Declaration
	Hooks       build.Built

	// References are the Secrets and ConfigMaps of the webhooks, and the ConfigMaps with the scripts, sorted.
	References []references.Object
}

// Load validates a controller object, and makes its hooks from its scripts. It calls no hook.
func Load(ctx context.Context, o *object.Object, sandbox build.Sandbox, sources scripts.Sources) (*Loaded, error) {
	d, err := spec.Read(o)
	if err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	builder := &build.Builder{Sandbox: Sandbox(sandbox), Sources: sources}
	built, err := builder.ReadAndBuild(ctx, d)
	if err != nil {
		return nil, withoutHooks(err)
	}
	all := built.Clients.Credentials.Objects()
	for _, script := range builder.Wanted(d) {
		all = append(all, build.ConfigMapsOf(&script)...)
	}
	if d.Settings.Shadow != nil {
		if with, err := d.WithShadow(); err == nil { // CheckShadow reports the error
			candidate := builder.Wanted(with)[""]
			all = append(all, build.ConfigMapsOf(&candidate)...)
		}
	}
	slices.SortFunc(all, references.Compare)
	return &Loaded{d, built, slices.Compact(all)}, nil
}

// withoutHooks returns an error of making hooks with what to do if there are none.
func withoutHooks(err error) error {
	if errors.Is(err, build.ErrNoHooks) {
		return fmt.Errorf("%w: set spec.script, or a webhook in spec.hooks.sync", err)
	}
	return err
}

// Check validates a controller object and compiles its scripts. It returns the names of its hooks, sorted, and warnings about
// fields that are accepted but are probably mistakes.
func Check(ctx context.Context, o *object.Object, sandbox build.Sandbox, sources scripts.Sources) (hooks, warnings []string, err error) {
	loaded, err := Load(ctx, o, sandbox, sources)
	if err != nil {
		return nil, nil, err
	}
	return loaded.Hooks.Names, append(Warnings(o, sandbox), loaded.Hooks.Warnings...), nil
}

// CheckShadow compiles the candidate in spec.shadow of a controller object. It returns the names of the hooks that the candidate serves,
// sorted; nil if there is no candidate.
func CheckShadow(ctx context.Context, o *object.Object, sandbox build.Sandbox, sources scripts.Sources) ([]string, error) {
	d, err := spec.Read(o)
	if err != nil || d.Settings.Shadow == nil && d.ShadowErr == nil {
		return nil, err
	}
	with, err := d.WithShadow()
	if err != nil {
		return nil, err
	}
	if _, err := spec.ShadowShare(d.Settings.Shadow); err != nil {
		return nil, err
	}
	builder := &build.Builder{Sandbox: sandbox.WithDefaults(), Sources: sources, Shadow: true}
	built, err := builder.ReadAndBuild(ctx, with)
	if err != nil {
		return nil, fmt.Errorf("spec.shadow.script: %w", err)
	}
	served := slices.DeleteFunc(slices.Clone(built.Names), func(name string) bool { return !with.UsesScript(name) })
	if len(served) == 0 {
		return nil, spec.ErrServesNone
	}
	return served, nil
}
