package scripts

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"testing/fstest"
)

// warnings returns warnings about a script that can be read: a library that does not exist, names that differ only in case,
// files that are never updated.
func (r *reading) warnings(files fstest.MapFS) []string {
	var warnings []string
	for _, p := range r.searchPath {
		if unreadable, ok := p.files.(missing); ok {
			warnings = append(warnings, unreadable.err.Error())
		}
	}
	names := slices.Sorted(maps.Keys(files))
	for _, pair := range differInCase(r.namesBeside(names)) {
		warnings = append(warnings, fmt.Sprintf("%s and %s differ only in case: rename one", pair[0], pair[1]))
	}
	for _, name := range r.neverUpdated(names) {
		warnings = append(warnings, name+" is mounted by subPath, which is never updated: mount the whole volume")
	}
	return warnings
}

// namesBeside returns all names in the folders of files.
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

// neverUpdated returns those of files that are mounted by subPath.
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
