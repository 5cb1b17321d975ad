package scripts

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"metascript/engine"
)

// Sources are where scripts' source is found.
type Sources struct {
	Folders    *Folders   // nil: no files
	ConfigMaps ConfigMaps // nil: no ConfigMaps
}

// ConfigMaps gives a ConfigMap as it is now; an error says why it cannot be had. What it gives is not changed, by
// anyone.
type ConfigMaps func(namespace, name string) (*ConfigMap, error)

// A ConfigMap has text by key, and the keys of what is no text.
type ConfigMap struct {
	Data   map[string]string
	Binary []string
}

// An Assembled script is ready to be compiled.
type Assembled struct {
	engine.Script
	Source string   // "inline", "file catset/sync.js" or "configMap namespace/name/key"
	Doubts []string // what is accepted, and probably not meant
}

const (
	maxAttempts = 20
	firstPause  = time.Millisecond
	maxPause    = 50 * time.Millisecond
)

// Assemble reads a script: its entry and what that reaches, all of one version; inline, all its modules. With
// everything, it is all that the script could load, whether it does or not, as far as it can be read: that is for
// hints in errors about files that are not there.
//
// An error is an [*Error], or is about w itself.
func (s Sources) Assemble(w Wanted, everything bool) (Assembled, error) {
	pause := firstPause
	for range maxAttempts {
		r := reading{sources: s, wanted: &w, everything: everything}
		made, err, settled := r.attempt()
		if settled {
			return made, err
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
	return Assembled{}, &Error{Reason: Unsettled, Source: w.source(), Msg: "its files change while they are read", Hint: "it is tried again; write less often"}
}

// A reading is one attempt to read a script.
type reading struct {
	sources    Sources
	wanted     *Wanted
	everything bool

	views []*view
	shelf shelf // its own files, then libraries
}

// attempt reports, beside what came of it, whether no file changed meanwhile. If one did, even an error means nothing.
func (r *reading) attempt() (made Assembled, err error, settled bool) {
	if r.wanted.UsesFiles() && r.sources.Folders != nil {
		for _, dir := range r.sources.Folders.dirs {
			v := open(dir)
			defer v.close()
			r.views = append(r.views, v)
		}
	}
	made, err = r.assemble()
	if slices.ContainsFunc(r.views, func(v *view) bool { return !v.settled() }) {
		return Assembled{}, nil, false
	}
	if err == nil {
		made.Doubts = r.doubts(made.Files.(fstest.MapFS))
	}
	return made, err, true
}

// An origin is where the entry comes from.
type origin struct {
	entry  string
	source string // of the entry, for errors
	own    part
	whole  map[string]string // what belongs to the script, loaded or not; nil: nothing
}

func (r *reading) assemble() (Assembled, error) {
	from, err := r.origin()
	if err != nil {
		return Assembled{}, err
	}
	language, err := r.wanted.language(from.entry)
	if err != nil {
		return Assembled{}, err
	}
	libraries, err := r.libraries()
	if err != nil {
		return Assembled{}, err
	}
	r.shelf = append(shelf{from.own}, libraries...)
	files, err := r.collect(from, language)
	return Assembled{
		Script: engine.Script{Language: language, Entry: from.entry, Files: files},
		Source: r.wanted.source(),
	}, err
}

// collect reads what the entry reaches.
func (r *reading) collect(from origin, language string) (fstest.MapFS, error) {
	c := newClosure(r.shelf, language, r.wanted.limit())
	for _, name := range slices.Sorted(maps.Keys(from.whole)) {
		c.add(name, []byte(from.whole[name]), true) // the engine says whether it is too large
	}
	c.queue(from.entry, true)
	if err := c.run(); err != nil {
		return nil, err
	}
	if r.everything || c.everything {
		if err := c.all(c.everything); err != nil {
			return nil, err
		}
	}
	if from.whole == nil && strings.TrimSpace(string(c.texts[from.entry])) == "" {
		return nil, invalid(from.source, "is empty", "write the script into it")
	}
	return c.files(), nil
}

func (r *reading) origin() (origin, error) {
	switch w := r.wanted; {
	case w.File != "":
		return r.file(w.File)
	case w.ConfigMap.Name != "":
		return r.key(w.ConfigMap)
	default:
		entry, files, err := inline(w)
		return origin{entry: entry, source: "inline", own: part{texts{source: "inline", data: files}, ".", "."}, whole: files}, err
	}
}

// file finds an entry in the first directory that has it. What lies in its folder and below is its own.
func (r *reading) file(name string) (origin, error) {
	source := "file " + name
	if !plain(name) || name == "." {
		return origin{}, invalid(source, "is not a path below a scripts directory", "write it like catset/sync.js")
	}
	v, err := r.viewOf(name, source)
	if err != nil {
		return origin{}, err
	}
	if v.isFolder(name) {
		return origin{}, invalid(source, "is a directory", "name the file in it")
	}
	folder := path.Dir(name)
	return origin{entry: name, source: source, own: part{v, folder, folder}}, nil
}

// viewOf is the first directory that has a file or folder.
func (r *reading) viewOf(name, source string) (*view, error) {
	var dirs, names []string
	for _, v := range r.views {
		if v.has(name) || v.isFolder(name) {
			return v, nil
		}
		there, _ := v.list(path.Dir(name), false)
		dirs, names = append(dirs, v.dir), append(names, there...)
	}
	if len(dirs) == 0 {
		return nil, notFound(source, "there is no scripts directory", "start the server with --scripts-dir")
	}
	return nil, notFound(source, "it is not in "+strings.Join(dirs, ", nor in "), near(name, names))
}

// key finds an entry in a ConfigMap, all of whose keys are its own.
func (r *reading) key(k Key) (origin, error) {
	found, err := r.configMap(k)
	if err != nil {
		return origin{}, err
	}
	if !found.has(k.Key) {
		_, err := found.read(k.Key, 0)
		return origin{}, err
	}
	return origin{entry: k.Key, source: found.source + ": key " + k.Key, own: part{found, ".", "."}}, nil
}

func (r *reading) configMap(k Key) (texts, error) {
	t := texts{source: "ConfigMap " + k.Namespace + "/" + k.Name}
	if r.sources.ConfigMaps == nil {
		return t, notFound(t.source, "there is no cluster to read it from", "")
	}
	found, err := r.sources.ConfigMaps(k.Namespace, k.Name)
	if err != nil {
		if _, ok := asError(err); ok {
			return t, err
		}
		return t, &Error{Reason: NotFound, Source: t.source, Msg: err.Error(), Err: err}
	}
	t.data, t.binary = found.Data, found.Binary
	return t, nil
}

// libraries finds them all. One that cannot be had is an error only for who loads from it.
func (r *reading) libraries() (shelf, error) {
	var found shelf
	for _, l := range r.wanted.Libraries {
		name := l.name()
		if !plain(name) || name == "." {
			return nil, invalid("library "+l.String(), fmt.Sprintf("%q is not a name that scripts can load", name), "give it a name")
		}
		if slices.ContainsFunc(found, func(p part) bool { return p.name == name }) {
			return nil, invalid("library "+l.String(), "there are two libraries called "+name, "give one of them another name")
		}
		p, err := r.library(l)
		if err != nil {
			p = part{files: missing{forLibrary(name, err)}}
		}
		p.name = name
		found = append(found, p)
	}
	return found, nil
}

func (r *reading) library(l Library) (part, error) {
	if l.File == "" {
		found, err := r.configMap(l.ConfigMap)
		if err == nil && l.ConfigMap.Key != "" && !found.has(l.ConfigMap.Key) {
			_, err = found.read(l.ConfigMap.Key, 0)
		}
		return part{files: found, at: cmp.Or(l.ConfigMap.Key, ".")}, err
	}
	source := "file " + l.File
	if !plain(l.File) {
		return part{}, invalid(source, "is not a path below a scripts directory", "write it like shared/lib.star")
	}
	v, err := r.viewOf(l.File, source)
	return part{files: v, at: l.File}, err
}
