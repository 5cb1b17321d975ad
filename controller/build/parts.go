package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// Parts are the scripts of one controller as they were read from their sources: that of spec.script under "", and that
// of a hook which has one of its own under the hook's name.
type Parts map[string]scripts.Assembled

// SpecPath is where the script of that name stands in the spec.
func SpecPath(name string) string {
	if name == "" {
		return "spec.script"
	}
	return "hooks." + name + ".script"
}

// names are those of the parts, spec.script first.
func (p Parts) names() []string { return slices.Sorted(maps.Keys(p)) }

// Wanted are the sources that d names, by the names of their parts.
func (l *Loader) Wanted(d *spec.Declaration) map[string]scripts.Wanted {
	wants := map[string]scripts.Wanted{}
	if d.Script != nil {
		wants[""] = l.wanted(d.Script.ScriptSource, d.Script)
	}
	for _, h := range d.Hooks {
		if h.Hook != nil && h.Script != nil && hasSource(h.Script.ScriptSource) {
			wants[h.Name] = l.wanted(h.Script.ScriptSource, d.Script)
		}
	}
	return wants
}

func hasSource(s v1alpha1.ScriptSource) bool {
	return s.Inline != "" || s.File != "" || s.ConfigMapRef != nil
}

// wanted is of what a script is made. The libraries of spec.script are for all.
func (l *Loader) wanted(s v1alpha1.ScriptSource, own *v1alpha1.ControllerScript) scripts.Wanted {
	w := scripts.Wanted{
		Language: string(s.Language), Inline: s.Inline, File: s.File,
		Libraries: librariesOf(own), Limit: l.limits(s, own).Source,
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

// limits are those of a script. What is not wholly in the object itself may be larger than an object.
func (l *Loader) limits(s v1alpha1.ScriptSource, own *v1alpha1.ControllerScript) engine.Limits {
	limits := l.Sandbox.limits(s)
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

// Gather reads the scripts of d from their sources, all as they are at one moment.
func (l *Loader) Gather(d *spec.Declaration) (Parts, error) {
	found, failed := l.Sources.AssembleAll(l.Wanted(d), false)
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		return nil, fmt.Errorf("%s: %w", SpecPath(name), failed[name])
	}
	return found, nil
}

// Warnings lists what is odd about the sources.
func (p Parts) Warnings() []string {
	var all []string
	for _, name := range p.names() {
		all = append(all, p[name].Warnings...)
	}
	return all
}

// ConfigMaps are those that the parts were read from, with their keys, which alone do not say where they are.
func (p Parts) ConfigMaps() []string {
	var all []string
	for _, name := range p.names() {
		if from, found := strings.CutPrefix(p[name].Source, "configMap "); found {
			all = append(all, from)
		}
	}
	return all
}

// status is what is told of the scripts: of spec.script, or else of all that there are together.
func (p Parts) status(hooks []string) (v1alpha1.ScriptStatus, error) {
	if len(p) == 0 {
		return v1alpha1.ScriptStatus{}, nil
	}
	digest, err := p.digest()
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

// Digests name the parts by their content.
func (p Parts) Digests() (map[string]string, error) {
	all := map[string]string{}
	for name, part := range p {
		digest, err := part.Script.Digest(engine.Limits{Source: MaxSource})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", SpecPath(name), err)
		}
		all[name] = digest
	}
	return all, nil
}

// digest is that of the one script that there is, or else names all of them.
func (p Parts) digest() (string, error) {
	all, err := p.Digests()
	for _, only := range all {
		if err != nil || len(all) == 1 {
			return only, err
		}
	}
	return sum(all)
}

// Identity names a version of a controller, spec and scripts together, by its content.
func Identity(spec any, p Parts) (string, error) {
	digests, err := p.Digests()
	if err != nil {
		return "", err
	}
	return sum(map[string]any{"spec": spec, "scripts": digests})
}

// sum is the SHA-256 of v as JSON, in hexadecimal.
func sum(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}

// missesFile reports whether err says that a script loads a file that was not there.
func missesFile(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Kind == engine.KindModule
}

// maxStored bounds what is unpacked, and read again: more than scripts and a spec may hold together.
const MaxSource = 8 << 20
