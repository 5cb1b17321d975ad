package scripts

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Changes say in which folders below the scripts directories something changed. The zero value means that nothing changed.
type Changes struct {
	dirs []dirChanges // one for each scripts directory, or none
}

// dirChanges are the changes below one scripts directory. Folders are slash-separated paths below it; the directory itself is
// ".".
type dirChanges struct {
	all     bool            // everything may have changed; then the other fields are not set
	folders map[string]bool // folders that were created or removed, or in which something other than a folder was
	trees   []*tree         // the states before, between and after the changes
}

// Concern reports whether the files that w names, or that they may load, may have changed. It may report true without need,
// but never false by mistake: for a file that is reached through a link, every change below the same scripts directory counts.
func (c Changes) Concern(w Wanted) bool {
	return slices.ContainsFunc(c.dirs, func(d dirChanges) bool {
		return w.File != "" && d.concern(path.Dir(w.File)) ||
			slices.ContainsFunc(w.Libraries, func(l Library) bool { return l.File != "" && d.concern(l.File) })
	})
}

// Any reports whether there are any changes.
func (c Changes) Any() bool {
	return slices.ContainsFunc(c.dirs, func(d dirChanges) bool { return d.all || len(d.folders) > 0 })
}

// And returns the changes of c together with others that happened after them.
func (c Changes) And(others Changes) Changes {
	var both Changes
	both.add(c)
	both.add(others)
	return both
}

// add adds changes of the same directories. c shares no data with others afterwards.
func (c *Changes) add(others Changes) {
	if len(c.dirs) == 0 {
		c.dirs = make([]dirChanges, len(others.dirs))
	}
	for i := range others.dirs {
		c.dirs[i].add(others.dirs[i])
	}
}

// If there are more trees or folders, they are replaced by "everything may have changed".
const (
	maxTrees   = 16
	maxChanged = 1000
)

// add adds changes of the same directory.
func (d *dirChanges) add(others dirChanges) {
	if d.all = d.all || others.all; d.folders == nil {
		d.folders = map[string]bool{}
	}
	maps.Copy(d.folders, others.folders)
	for _, t := range others.trees {
		if !slices.Contains(d.trees, t) {
			d.trees = append(d.trees, t)
		}
	}
	if d.all || len(d.trees) > maxTrees || len(d.folders) > maxChanged {
		*d = dirChanges{all: true}
	}
}

// concern reports whether something changed at a path: a file, or a folder with everything below it.
func (d dirChanges) concern(name string) bool {
	if d.all || len(d.folders) == 0 {
		return d.all
	}
	at := "."
	if name = path.Clean(name); name != "." {
		for part := range strings.SplitSeq(name, "/") {
			parent := at
			at = path.Join(at, part)
			switch {
			case d.isLink(at):
				return true
			case !d.isFolder(at): // a file, or nothing, or a folder that was created or removed
				return d.folders[at] || at == name && d.folders[parent]
			}
		}
	}
	return d.changedBelow(name) || d.leavesBelow(name)
}

// isLink reports whether there was a link at that path in some state.
func (d dirChanges) isLink(at string) bool {
	return slices.ContainsFunc(d.trees, func(t *tree) bool { _, ok := t.links[at]; return ok })
}

// isFolder reports whether there was a folder at that path in all states.
func (d dirChanges) isFolder(at string) bool {
	return !slices.ContainsFunc(d.trees, func(t *tree) bool { _, ok := t.folders[at]; return !ok })
}

// changedBelow reports whether something changed in a folder, or in one below it.
func (d dirChanges) changedBelow(folder string) bool {
	for changed := range d.folders {
		if inFolder(folder, changed) {
			return true
		}
	}
	return false
}

// leavesBelow reports whether a link in a folder, or in one below it, leads out of that folder.
func (d dirChanges) leavesBelow(folder string) bool {
	for _, t := range d.trees {
		for link, leaves := range t.links {
			if leaves && inFolder(folder, link) {
				return true
			}
		}
	}
	return false
}

// inFolder reports whether a path is folder, or leads below it.
func inFolder(folder, at string) bool {
	return folder == "." || at == folder || strings.HasPrefix(at, folder+"/")
}
