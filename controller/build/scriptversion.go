package build

import (
	"context"
	"errors"
	"maps"
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/spec"
)

// A ScriptVersion is one version of all scripts of a controller. Revisions of parents refer to it.
type ScriptVersion struct {
	// Script is spec.script, or nil.
	Script *v1alpha1.ControllerScript
	// Hooks are the hooks that are scripts, without their webhooks. It is nil if spec.script is the only script with a source.
	Hooks map[string]v1alpha1.Hook
	// Parts are the scripts that were read. It is nil if all scripts are inline in Script and Hooks.
	Parts Parts
}

// hookNames are the names of all hooks.
var hookNames = []string{hook.Sync, hook.Finalize, hook.Customize}

// errOtherParts says that a stored ScriptVersion is inconsistent, so somebody has changed it.
var errOtherParts = errors.New("it was changed: it does not have the scripts that its hooks name")

// ScriptVersion returns the version of the scripts of c.
func (c *Candidate) ScriptVersion() ScriptVersion {
	v := ScriptVersion{Script: c.Script, Parts: c.Parts}
	if c.Parts.onlyOwn() {
		return v
	}
	v.Hooks = map[string]v1alpha1.Hook{}
	for _, h := range c.Hooks {
		if h.Hook != nil && h.Script != nil {
			v.Hooks[h.Name] = v1alpha1.Hook{Version: h.Version, Script: h.Script}
		}
	}
	return v
}

// IsInline reports whether all scripts are in the controller object itself.
func (v *ScriptVersion) IsInline() bool {
	if v.Script != nil && (v.Script.Inline == "" || len(v.Script.Libraries) > 0) {
		return false
	}
	for _, h := range v.Hooks {
		if hasSource(h.Script.ScriptSource) && h.Script.Inline == "" {
			return false
		}
	}
	return true
}

// BuildVersion makes the hooks of c with an older version of its scripts. Everything else, such as the webhooks, is as in c.
func (b *Builder) BuildVersion(ctx context.Context, c *Candidate, v ScriptVersion) (Built, error) {
	d, parts := v.declaration(c.Declaration, nil), v.Parts
	if parts == nil {
		var err error
		if parts, err = b.read(d); err != nil {
			return Built{}, err
		}
	}
	if !slices.Equal(parts.names(), slices.Sorted(maps.Keys(b.Wanted(d)))) {
		return Built{}, errOtherParts
	}
	digest, err := parts.versionDigest()
	if err != nil {
		return Built{}, err
	}
	built, err := b.Build(ctx, d, parts)
	if later := v.later(c, built.Names); len(later) > 0 && (err == nil || errors.As(err, new(*functionError))) {
		all := maps.Clone(parts)
		maps.Copy(all, later)
		built, err = b.Build(ctx, v.declaration(c.Declaration, later), all)
	}
	built.Digest = digest
	return built, err
}

// later returns the scripts of single hooks in c for hooks that v does not have, but may have had. Earlier servers stored only
// spec.script, so a version without Hooks may have had other scripts too. names are the hooks that v has.
func (v *ScriptVersion) later(c *Candidate, names []string) Parts {
	found := Parts{}
	for name, part := range c.Parts {
		if v.Hooks == nil && name != "" && !slices.Contains(names, name) {
			found[name] = part
		}
	}
	return found
}

// declaration returns a copy of now with the scripts of v. The hooks in keep stay as they are in now.
func (v *ScriptVersion) declaration(now *spec.Declaration, keep Parts) *spec.Declaration {
	d := *now
	d.Script, d.Hooks = v.Script, nil
	if now.Hooks == nil && v.Hooks == nil {
		return &d
	}
	for _, name := range hookNames {
		set := now.Hook(name)
		if _, keeps := keep[name]; !keeps {
			set = v.hook(name, set)
		}
		d.Hooks = append(d.Hooks, spec.NamedHook{Name: name, Hook: set})
	}
	return &d
}

// hook returns the entry for a hook in spec.hooks: with the script of v, if it has one for this hook, and with the webhook of
// now. now is the current entry, or nil.
func (v *ScriptVersion) hook(name string, now *v1alpha1.Hook) *v1alpha1.Hook {
	then, listed := v.Hooks[name]
	switch {
	case listed:
		if now != nil {
			then.Webhook, then.Fallback = now.Webhook, now.Fallback
		}
		return &then
	case now == nil || now.Script == nil:
		return now
	case v.Hooks == nil && !hasSource(now.Script.ScriptSource):
		return now
	case v.Hooks == nil || now.Webhook == nil:
		return &v1alpha1.Hook{Version: now.Version} // the function of the same name in spec.script, if there is one
	}
	return &v1alpha1.Hook{Version: now.Version, Webhook: now.Webhook}
}
