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

// A ScriptVersion is one version of all scripts of a controller, as revisions of its parents refer to it.
type ScriptVersion struct {
	Script *v1alpha1.ControllerScript // spec.script, or nil
	Hooks  map[string]v1alpha1.Hook   // the hooks that are scripts, without webhooks; nil: spec.script alone has a source
	Parts  Parts                      // nil: everything is inline in Script and Hooks
}

// ScriptVersion is that of the scripts which c has.
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

// onlyOwn reports whether spec.script is the only script with a source.
func (p Parts) onlyOwn() bool {
	_, own := p[""]
	return own && len(p) == 1
}

// IsInline reports whether the scripts need nothing that is not in the controller object itself.
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

// versionDigest names a version of the scripts by their content; "" is none. That of spec.script alone is the digest of that
// script. Any other is of digests by name, so that it is never the digest of a script.
func (p Parts) versionDigest() (string, error) {
	digests, err := p.Digests()
	if err != nil || len(p) == 0 {
		return "", err
	}
	if p.onlyOwn() {
		return digests[""], nil
	}
	return sum(digests)
}

// errOtherParts says that a ScriptVersion contradicts itself.
var errOtherParts = errors.New("it was changed: it does not have the scripts that its hooks name")

// LoadVersion makes the hooks of an older version of c's scripts. All else is as c has it.
func (l *Loader) LoadVersion(ctx context.Context, c *Candidate, v ScriptVersion) (Built, error) {
	d, parts := v.declaration(c.Declaration, nil), v.Parts
	if parts == nil {
		var err error
		if parts, err = l.Gather(d); err != nil {
			return Built{}, err
		}
	}
	if !slices.Equal(parts.names(), slices.Sorted(maps.Keys(l.Wanted(d)))) {
		return Built{}, errOtherParts
	}
	digest, err := parts.versionDigest()
	if err != nil {
		return Built{}, err
	}
	built, err := l.Load(ctx, d, parts)
	if later := v.later(c, built.Names); len(later) > 0 && (err == nil || errors.As(err, new(*FunctionError))) {
		all := maps.Clone(parts)
		maps.Copy(all, later)
		built, err = l.Load(ctx, v.declaration(c.Declaration, later), all)
	}
	built.Digest = digest
	return built, err
}

// later are the scripts of single hooks that c has, for the hooks that v does not answer although it may have had them: a
// version of spec.script alone is also what was stored before hooks were part of it.
func (v *ScriptVersion) later(c *Candidate, answered []string) Parts {
	found := Parts{}
	for name, part := range c.Parts {
		if v.Hooks == nil && name != "" && !slices.Contains(answered, name) {
			found[name] = part
		}
	}
	return found
}

// declaration is now with the scripts of v, except for the hooks of which keep has the scripts.
func (v *ScriptVersion) declaration(now *spec.Declaration, keep Parts) *spec.Declaration {
	d := *now
	d.Script, d.Hooks = v.Script, nil
	if now.Hooks == nil && v.Hooks == nil {
		return &d
	}
	for _, name := range hookNames {
		set := now.Hook(name)
		if _, kept := keep[name]; !kept {
			set = v.hook(name, set)
		}
		d.Hooks = append(d.Hooks, spec.NamedHook{Name: name, Hook: set})
	}
	return &d
}

// hookNames are the names of the hooks.
var hookNames = []string{hook.Sync, hook.Finalize, hook.Customize}

// hook is the entry of a hook with the script that v has for it, or without one. The webhook is the one of now.
func (v *ScriptVersion) hook(name string, now *v1alpha1.Hook) *v1alpha1.Hook {
	then, listed := v.Hooks[name]
	switch {
	case listed && now != nil:
		then.Webhook, then.Fallback = now.Webhook, now.Fallback
		return &then
	case listed:
		return &then
	case now == nil || now.Script == nil:
		return now
	case v.Hooks == nil && !hasSource(now.Script.ScriptSource):
		return now
	case v.Hooks == nil || now.Webhook == nil:
		return &v1alpha1.Hook{Version: now.Version} // the function of that name in spec.script, if there is one
	}
	return &v1alpha1.Hook{Version: now.Version, Webhook: now.Webhook}
}
