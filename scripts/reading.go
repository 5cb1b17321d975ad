package scripts

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"metascript/engine"
)

// A reading reads one script from a snapshot.
type reading struct {
	*snapshot
	wanted     *Wanted
	everything bool // see Sources.Assemble

	searchPath searchPath // the script's own files, then its libraries
}

// An origin describes the entry of a script.
type origin struct {
	entry  string
	source string            // of the entry, for errors
	own    mounted           // the files from which the script may load without a library
	whole  map[string]string // files that belong to the script even if nothing loads them, by name; nil: none
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
	r.searchPath = append(searchPath{from.own}, libraries...)
	files, err := r.collect(from, language)
	return Assembled{
		Script: engine.Script{Language: language, Entry: from.entry, Files: files},
		Source: r.wanted.source(),
	}, err
}

// collect reads the entry and the files that it may load.
func (r *reading) collect(from origin, language string) (fstest.MapFS, error) {
	c := newClosure(r.searchPath, language, r.wanted.limit())
	for _, name := range slices.Sorted(maps.Keys(from.whole)) {
		c.add(name, []byte(from.whole[name]), true) // the engine checks whether it is too large
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

// origin returns the entry of the script.
func (r *reading) origin() (origin, error) {
	switch w := r.wanted; {
	case w.File != "":
		return r.file(w.File)
	case w.ConfigMap.Name != "":
		return r.key(w.ConfigMap)
	default:
		entry, files, err := inline(w)
		return origin{entry: entry, source: "inline", own: mounted{texts{source: "inline", data: files}, ".", "."}, whole: files}, err
	}
}

// file finds an entry in the first directory that has it. The files in its folder and below belong to the script.
func (r *reading) file(name string) (origin, error) {
	source := "file " + name
	if !validName(name) || name == "." {
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
	return origin{entry: name, source: source, own: mounted{v, folder, folder}}, nil
}

// viewOf returns the first directory that has a file or folder of that name.
func (r *reading) viewOf(name, source string) (*view, error) {
	var dirs, names []string
	for _, v := range r.views {
		if v.has(name) || v.isFolder(name) {
			return v, nil
		}
		found, _ := v.list(path.Dir(name), false)
		dirs, names = append(dirs, v.dir), append(names, found...)
	}
	if len(dirs) == 0 {
		return nil, notFound(source, "there is no scripts directory", "start the server with --scripts-dir")
	}
	return nil, notFound(source, "it is not in "+strings.Join(dirs, ", nor in "), suggest(name, names))
}

// key finds an entry in a ConfigMap. All keys of it belong to the script.
func (r *reading) key(k Key) (origin, error) {
	found, err := r.configMap(k)
	if err != nil {
		return origin{}, err
	}
	if !found.has(k.Key) {
		_, err := found.read(k.Key, 0)
		return origin{}, err
	}
	return origin{entry: k.Key, source: found.source + ": key " + k.Key, own: mounted{found, ".", "."}}, nil
}

// configMap returns the files of a ConfigMap. An error is an [*Error].
func (r *reading) configMap(k Key) (texts, error) {
	t := texts{source: "ConfigMap " + k.Namespace + "/" + k.Name}
	found, err := r.snapshot.configMap(k.Namespace, k.Name)
	switch _, ok := asError(err); {
	case ok:
		return t, err
	case err != nil:
		return t, &Error{Reason: NotFound, Source: t.source, Msg: err.Error(), Err: err}
	}
	t.data, t.binary = found.Data, found.Binary
	return t, nil
}

// libraries returns all libraries. One that cannot be read is an error only for a script that loads from it.
func (r *reading) libraries() (searchPath, error) {
	var found searchPath
	for _, l := range r.wanted.Libraries {
		name := l.name()
		if !validName(name) || name == "." {
			return nil, invalid("library "+l.String(), fmt.Sprintf("%q is not a name that scripts can load", name), "give it a name")
		}
		if slices.ContainsFunc(found, func(p mounted) bool { return p.name == name }) {
			return nil, invalid("library "+l.String(), "there are two libraries called "+name, "give one of them another name")
		}
		p, err := r.library(l)
		if err != nil {
			p = mounted{files: missing{forLibrary(name, err)}}
		}
		p.name = name
		found = append(found, p)
	}
	return found, nil
}

// library returns the files of a library. It does not set their name.
func (r *reading) library(l Library) (mounted, error) {
	if l.File == "" {
		found, err := r.configMap(l.ConfigMap)
		if err == nil && l.ConfigMap.Key != "" && !found.has(l.ConfigMap.Key) {
			_, err = found.read(l.ConfigMap.Key, 0)
		}
		return mounted{files: found, at: cmp.Or(l.ConfigMap.Key, ".")}, err
	}
	source := "file " + l.File
	if !validName(l.File) {
		return mounted{}, invalid(source, "is not a path below a scripts directory", "write it like shared/lib.star")
	}
	v, err := r.viewOf(l.File, source)
	return mounted{files: v, at: l.File}, err
}
