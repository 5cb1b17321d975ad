package manifest

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/engine"
)

// A scriptField is the script of a controller, or of one of its hooks.
type scriptField struct {
	path     string
	function string // of the hook; "" for the script of the controller
	script   map[string]any
}

// shadowPath is the path of the candidate, with which errors about it begin.
const shadowPath = "spec.shadow.script"

// scriptFields returns the scripts of a controller: its own, then those of its hooks, and then the candidate.
func scriptFields(m map[string]any) []scriptField {
	spec, _ := m["spec"].(map[string]any)
	hooks, _ := spec["hooks"].(map[string]any)
	var all []scriptField
	if script, ok := spec["script"].(map[string]any); ok {
		all = append(all, scriptField{"spec.script", "", script})
	}
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		hook, _ := hooks[name].(map[string]any)
		if script, ok := hook["script"].(map[string]any); ok {
			all = append(all, scriptField{"spec.hooks." + name + ".script", cmp.Or(textOf(script, "function"), name), script})
		}
	}
	shadow, _ := spec["shadow"].(map[string]any)
	if script, ok := shadow["script"].(map[string]any); ok {
		all = append(all, scriptField{shadowPath, "", script})
	}
	return all
}

// textOf returns a field that is a string, or "".
func textOf(m map[string]any, field string) string {
	text, _ := m[field].(string)
	return text
}

// A scriptText is where a text of a script is: a field of a document, or a file.
type scriptText struct {
	doc   Document
	field string // "" for a file
	file  string
}

// entryName matches the name of the text in inline, which depends on the language.
var entryName = regexp.MustCompile(`^sync\.(star|js|ts|jsonnet)$`)

// texts returns where the text may be that an error of a controller's script calls name. msg is the text of the error: a hook that it
// names comes first.
func (s Sources) texts(of Document, name, msg string) []scriptText {
	fields := scriptFields(of.Object.Map())
	names := func(f scriptField) int {
		if f.path == shadowPath && strings.Contains(msg, shadowPath+": ") {
			return 0
		}
		if f.function != "" && (strings.Contains(msg, strings.TrimPrefix(f.path, "spec.")+": ") || strings.Contains(msg, "in "+f.function+": ")) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(fields, func(a, b scriptField) int { return names(a) - names(b) })
	var all []scriptText
	for _, f := range fields {
		modules, _ := f.script["modules"].(map[string]any)
		switch ref, _ := f.script["configMapRef"].(map[string]any); {
		case f.script["inline"] != nil && modules[name] != nil:
			all = append(all, scriptText{doc: of, field: f.path + ".modules[" + name + "]"})
		case f.script["inline"] != nil && entryName.MatchString(name):
			all = append(all, scriptText{doc: of, field: f.path + ".inline"})
		case f.script["file"] != nil:
			all = append(all, s.below(name)...)
		case ref != nil:
			all = append(all, s.key(ref, name)...)
		}
	}
	for _, f := range fields {
		libraries, _ := f.script["libraries"].([]any)
		for _, library := range libraries {
			library, _ := library.(map[string]any)
			all = append(all, s.library(library, name)...)
		}
	}
	return all
}

// library returns where a text in a library may be.
func (s Sources) library(library map[string]any, name string) []scriptText {
	file := textOf(library, "file")
	ref, _ := library["configMapRef"].(map[string]any)
	own := cmp.Or(textOf(library, "name"), textOf(ref, "key"), textOf(ref, "name"))
	if file != "" {
		own = cmp.Or(textOf(library, "name"), path.Base(file))
	}
	rest, inside := strings.CutPrefix(name, own)
	switch rest, inFolder := strings.CutPrefix(rest, "/"); {
	case !inside || rest != "" && !inFolder:
		return nil
	case file != "":
		return s.below(path.Join(file, rest))
	default:
		return s.key(ref, cmp.Or(textOf(ref, "key"), rest))
	}
}

// below returns the files of that name below the scripts directories.
func (s Sources) below(name string) []scriptText {
	if !fs.ValidPath(name) {
		return nil
	}
	var all []scriptText
	for _, dir := range s.dirs {
		all = append(all, scriptText{file: filepath.Join(dir, filepath.FromSlash(name))})
	}
	return all
}

// key returns a key of a ConfigMap, if this is among the documents.
func (s Sources) key(ref map[string]any, key string) []scriptText {
	doc, found := s.configMap(textOf(ref, "namespace"), textOf(ref, "name"))
	if !found {
		return nil
	}
	return []scriptText{{doc: doc, field: "data[" + key + "]"}}
}

// at returns the place of a position in a text. line is the text of the line if it is known. It is false if the text does not exist, or has
// another line there.
func (t scriptText) at(pos engine.Pos, line string) (place.Place, bool) {
	if t.field != "" {
		at, ok := t.doc.Value.Script(t.field, pos.Line, pos.Col, line)
		at.File = t.doc.File
		return at, ok
	}
	info, err := os.Stat(t.file)
	if err != nil || !info.Mode().IsRegular() { // reading a pipe could take forever
		return place.Place{}, false
	}
	text, err := os.ReadFile(t.file)
	if err != nil {
		return place.Place{}, false
	}
	at := place.Place{Pos: engine.Pos{File: t.file, Line: pos.Line, Col: pos.Col}}
	if lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n"); 0 < pos.Line && pos.Line <= len(lines) {
		at.Source = strings.TrimRight(lines[pos.Line-1], "\r")
	}
	return at, line == "" || place.SameLine(at.Source, line)
}

// A mention is a position in a script, in an error.
type mention struct {
	pos  engine.Pos
	line string // the text of the line; "" if it is not known
	hint string // of an error of the script
}

// inText matches the position in a script at the beginning of a message, and the text of its line.
var inText = regexp.MustCompile(`(?s)^(?:[^\n]*?: )?([\w./-]+\.(?:star|js|ts|jsonnet|libsonnet|json))(?::(\d+)(?::(\d+))?)?: [^\n]*(?:\n    ([^\n]*))?`)

// mentionIn returns the position in a script at the beginning of a text.
func mentionIn(text string) (mention, bool) {
	match := inText.FindStringSubmatch(text)
	if match == nil {
		return mention{}, false
	}
	line, _ := strconv.Atoi(match[2]) // 0 if it is not known
	col, _ := strconv.Atoi(match[3])
	return mention{pos: engine.Pos{File: match[1], Line: line, Col: col}, line: match[4]}, true
}

// mentionOf returns the position in a script that an error is about, whose text begins with msg.
func mentionOf(err error, msg string) (mention, bool) {
	var e *engine.Error
	if errors.As(err, &e) {
		return mention{e.Pos, e.Source, e.Hint}, e.Pos.File != ""
	}
	return mentionIn(msg)
}

// find returns the place in the files of a position in a script of a controller. msg is the text of the error with the position.
func (s Sources) find(of Document, m mention, msg string) (place.Place, bool) {
	if of.Object == nil {
		return place.Place{}, false
	}
	for _, text := range s.texts(of, m.pos.File, msg) {
		if at, ok := text.at(m.pos, m.line); ok {
			return at, true
		}
	}
	return place.Place{}, false
}

// Located returns err as an [*place.Error] if it has a place in the files: an error about a script of the controller, or one that begins
// with the name of the controller. Otherwise it returns err itself.
func (s Sources) Located(of Document, err error) error {
	if err == nil || of.Object == nil {
		return err
	}
	if strings.HasPrefix(err.Error(), object.Describe(of.Object)+": ") {
		return s.Explain(of, err)
	}
	if m, ok := mentionOf(err, err.Error()); ok {
		if at, ok := s.find(of, m, err.Error()); ok {
			return inScript(at, m, engine.DetailOf(err))
		}
	}
	return err
}

// isFile reports whether a place is in a file that has only the script: the position in the script says no more then.
func (m mention) isFile(at place.Place) bool { return at.Line == m.pos.Line && at.Col == m.pos.Col }

// inScript returns the error with a message about a script, and the position in the script.
func inScript(at place.Place, m mention, msg string) *place.Error {
	if m.isFile(at) {
		msg = strings.Replace(msg, m.pos.String()+": ", "", 1)
	}
	if m.line != "" {
		at.Source = "" // the message has the line, without values of Secrets
	}
	return &place.Error{Place: at, Msg: msg, Hint: m.hint}
}

// LocatedText is [Sources.Located] for the text of an error, as it is in the status of a controller.
func (s Sources) LocatedText(of Document, text string) string {
	if m, ok := mentionIn(text); ok {
		switch at, ok := s.find(of, m, text); {
		case ok && m.isFile(at):
			return strings.Replace(text, m.pos.String(), at.Pos.String(), 1)
		case ok:
			return at.Pos.String() + ": " + text
		}
	}
	return text
}

// Explain returns an error of loading a controller with its place: that of the script, or of the field with which the message begins.
func (s Sources) Explain(of Document, err error) *place.Error {
	msg := strings.TrimPrefix(engine.DetailOf(err), object.Describe(of.Object)+": ")
	if m, ok := mentionOf(err, msg); ok {
		if at, ok := s.find(of, m, msg); ok {
			e := inScript(at, m, msg)
			e.About = object.Describe(of.Object)
			return e
		}
	}
	if errors.As(err, new(*engine.Error)) { // of a script in a cluster, for example
		return &place.Error{Place: place.Place{Pos: engine.Pos{File: of.File}}, About: object.Describe(of.Object), Msg: msg}
	}
	if spec.LacksStatus(err) {
		e := of.Errorf("spec.parentResource", "%s", msg)
		e.Field, e.Hint = "", "add subresources: {status: {}} to the version in the CustomResourceDefinition"
		return e
	}
	return of.explain(msg)
}
