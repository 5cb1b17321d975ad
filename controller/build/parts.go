package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// Parts are the scripts of one controller as they were read from their sources. The key of spec.script is "". A hook that has
// its own script has its name as the key.
type Parts map[string]scripts.Assembled

// SpecPath returns the path in the spec of the script with that key in Parts.
func SpecPath(name string) string {
	if name == "" {
		return "spec.script"
	}
	return "hooks." + name + ".script"
}

// MaxSource is the limit in bytes for scripts, and for a spec with its scripts, that were stored and are read again. It is more
// than the limits of sources allow, so that everything that was loaded can be stored.
const MaxSource = 8 << 20

// names returns the keys in order: spec.script is the first.
func (p Parts) names() []string { return slices.Sorted(maps.Keys(p)) }

// onlyOwn reports whether spec.script is the only script with a source.
func (p Parts) onlyOwn() bool {
	_, own := p[""]
	return own && len(p) == 1
}

// Warnings returns the warnings about the sources.
func (p Parts) Warnings() []string {
	var all []string
	for _, name := range p.names() {
		all = append(all, p[name].Warnings...)
	}
	return all
}

// ConfigMaps returns the ConfigMaps that scripts were read from, as namespace/name/key.
func (p Parts) ConfigMaps() []string {
	var all []string
	for _, name := range p.names() {
		if from, found := strings.CutPrefix(p[name].Source, "configMap "); found {
			all = append(all, from)
		}
	}
	return all
}

// status describes spec.script, or all scripts together if there is no spec.script. hooks are the names of the hooks.
func (p Parts) status(hooks []string) (v1alpha1.ScriptStatus, error) {
	if len(p) == 0 {
		return v1alpha1.ScriptStatus{}, nil
	}
	digest, err := p.statusDigest()
	first := p[p.names()[0]]
	status := v1alpha1.ScriptStatus{Language: v1alpha1.Language(first.Language), Hooks: hooks, Source: first.Source, Digest: "sha256:" + digest}
	if _, own := p[""]; !own {
		var all []string
		for _, name := range p.names() {
			all = append(all, "hooks."+name+": "+p[name].Source)
		}
		status.Source = strings.Join(all, ", ")
	}
	return status, err
}

// read reads the scripts of d from their sources. All are of the same moment, also if files change meanwhile.
func (b *Builder) read(d *spec.Declaration) (Parts, error) {
	parts, failed := b.Sources.AssembleAll(b.Wanted(d), false)
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		return nil, fmt.Errorf("%s: %w", SpecPath(name), failed[name])
	}
	return parts, nil
}

// Wanted returns the sources that d names. The keys are those of Parts.
func (b *Builder) Wanted(d *spec.Declaration) map[string]scripts.Wanted {
	all := map[string]scripts.Wanted{}
	if d.Script != nil {
		all[""] = b.wantedOf(d.Script.ScriptSource, d.Script)
	}
	for _, h := range d.Hooks {
		if h.Hook != nil && h.Script != nil && hasSource(h.Script.ScriptSource) {
			all[h.Name] = b.wantedOf(h.Script.ScriptSource, d.Script)
		}
	}
	return all
}

// hasSource reports whether a script has a source of its own. If not, it is a function of spec.script.
func hasSource(s v1alpha1.ScriptSource) bool {
	return s.Inline != "" || s.File != "" || s.ConfigMapRef != nil
}

// wantedOf returns the source of one script. The libraries of spec.script are for all scripts. own is spec.script, or nil.
func (b *Builder) wantedOf(s v1alpha1.ScriptSource, own *v1alpha1.ControllerScript) scripts.Wanted {
	w := scripts.Wanted{
		Language: string(s.Language), Inline: s.Inline, File: s.File,
		Libraries: librariesOf(own), Limit: b.limits(s, own).Source,
	}
	if s.ConfigMapRef != nil {
		w.ConfigMap = scripts.Key{Namespace: s.ConfigMapRef.Namespace, Name: s.ConfigMapRef.Name, Key: s.ConfigMapRef.Key}
	}
	if len(s.Modules) > 0 {
		w.Modules = make(map[string]string, len(s.Modules))
	}
	for name, text := range s.Modules {
		w.Modules[name] = string(text)
	}
	return w
}

// limits returns the limits of a script. A script that is not completely in the controller object may be larger than an object
// can be.
func (b *Builder) limits(s v1alpha1.ScriptSource, own *v1alpha1.ControllerScript) engine.Limits {
	limits := b.Sandbox.limits(s)
	if s.Inline == "" || own != nil && len(own.Libraries) > 0 {
		limits.Source = engine.Limits{}.WithDefaults().Source
	}
	return limits
}

func librariesOf(own *v1alpha1.ControllerScript) []scripts.Library {
	if own == nil {
		return nil
	}
	var all []scripts.Library
	for _, d := range own.Libraries {
		library := scripts.Library{Name: d.Name, File: d.File}
		if d.ConfigMapRef != nil {
			library.ConfigMap = scripts.Key{Namespace: d.ConfigMapRef.Namespace, Name: d.ConfigMapRef.Name, Key: d.ConfigMapRef.Key}
		}
		all = append(all, library)
	}
	return all
}
