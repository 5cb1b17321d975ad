package scripts

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"testing/fstest"
)

// doubts are warnings about a script that can be read: a library that is not there, names that differ only in case, files that are
// never updated.
func (r *reading) doubts(files fstest.MapFS) []string {
	var doubts []string
	for _, p := range r.searchPath {
		if gone, ok := p.files.(missing); ok {
			doubts = append(doubts, gone.err.Error())
		}
	}
	names := slices.Sorted(maps.Keys(files))
	for _, pair := range differInCase(r.namesBeside(names)) {
		doubts = append(doubts, fmt.Sprintf("%s and %s differ only in case: rename one", pair[0], pair[1]))
	}
	for _, name := range r.neverUpdated(names) {
		doubts = append(doubts, name+" is mounted by subPath, which is never updated: mount the whole volume")
	}
	return doubts
}

// namesBeside are the names in the folders of files.
func (r *reading) namesBeside(files []string) []string {
	var names []string
	folders := map[string]bool{}
	for _, name := range files {
		if folder := path.Dir(name); !folders[folder] {
			folders[folder] = true
			names = append(names, r.searchPath.names(folder)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// neverUpdated are those of files that are mounted by subPath.
func (r *reading) neverUpdated(files []string) []string {
	if len(r.views) == 0 {
		return nil
	}
	mounts, err := r.sources.Folders.mounts()
	if err != nil {
		return nil // not on Linux, so that there is no kubelet
	}
	return slices.DeleteFunc(files, func(name string) bool {
		p, _ := r.searchPath.find(name)
		v, ok := p.files.(*view)
		inside, _ := p.inside(name)
		return !ok || !v.neverUpdated(inside, string(mounts))
	})
}
