package scripts

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"metascript/engine"
)

// Wanted names the parts of a script, as spec.script does.
type Wanted struct {
	Language string // "": the one that the ending of the entry's name implies

	// Exactly one of these is set.
	Inline    string // the text itself
	File      string // a path below a scripts directory
	ConfigMap Key    // with the Key in it

	Modules   map[string]string // beside Inline, texts by name
	Libraries []Library         // in the order in which they are searched
	Limit     int64             // bytes of all files together, with their names; 0 means the engine's default
}

// A Key names a ConfigMap and a key in it; an empty Key.Key means all keys.
type Key struct{ Namespace, Name, Key string }

// String returns namespace/name or namespace/name/key.
func (k Key) String() string { return strings.TrimSuffix(k.Namespace+"/"+k.Name+"/"+k.Key, "/") }

// A Library is a file, or a folder with everything below it, that scripts load as Name or as Name/path.
// Exactly one of File and ConfigMap is set; a ConfigMap without Key is a folder.
type Library struct {
	Name      string // "": the last part of File, or the ConfigMap's Key, or its name
	File      string
	ConfigMap Key
}

// name returns Name or its default.
func (l Library) name() string {
	if l.File != "" {
		return cmp.Or(l.Name, path.Base(l.File))
	}
	return cmp.Or(l.Name, l.ConfigMap.Key, l.ConfigMap.Name)
}

// String returns the source of the library.
func (l Library) String() string {
	if l.File != "" {
		return l.File
	}
	return "ConfigMap " + l.ConfigMap.String()
}

// ConfigMapNames returns the ConfigMaps that w names, each once and without a Key.
func (w *Wanted) ConfigMapNames() []Key {
	var names []Key
	for _, k := range append([]Key{w.ConfigMap}, configMapsOf(w.Libraries)...) {
		if k.Key = ""; k.Name != "" && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	return names
}

func configMapsOf(libraries []Library) []Key {
	keys := make([]Key, len(libraries))
	for i, l := range libraries {
		keys[i] = l.ConfigMap
	}
	return keys
}

// UsesFiles reports whether w names a file or a folder below a scripts directory.
func (w *Wanted) UsesFiles() bool {
	return w.File != "" || slices.ContainsFunc(w.Libraries, func(l Library) bool { return l.File != "" })
}

// source returns the source of the script.
func (w *Wanted) source() string {
	switch {
	case w.File != "":
		return "file " + w.File
	case w.ConfigMap.Name != "":
		return "configMap " + w.ConfigMap.String()
	}
	return "inline"
}

// endings are the languages by the ending of a file name.
var endings = map[string]string{
	".star":      engine.Starlark,
	".js":        engine.JavaScript,
	".ts":        engine.TypeScript,
	".jsonnet":   engine.Jsonnet,
	".libsonnet": engine.Jsonnet,
}

// LanguageOf returns the language that a file name implies, or "" if it implies none. The validation rule on a script's
// language in the CustomResourceDefinitions uses the same endings.
func LanguageOf(name string) string {
	if strings.HasSuffix(name, ".d.ts") {
		return "" // declarations of types, without code
	}
	return endings[path.Ext(name)]
}

// language returns Language, or else the one that the entry's ending implies.
func (w *Wanted) language(entry string) (string, error) {
	if language := cmp.Or(w.Language, LanguageOf(entry)); language != "" {
		return language, nil
	}
	return "", invalid(w.source(), "its name does not imply a language", "set language, or use a name that ends in .star, .js, .ts, .jsonnet or .libsonnet")
}

// limit returns Limit or its default.
func (w *Wanted) limit() int64 { return engine.Limits{Source: w.Limit}.WithDefaults().Source }
