package scripts

import (
	"errors"
	"slices"
)

// A searchPath lists the places from which a script may load files: first its own files, then its libraries. The first that
// has a file is used.
type searchPath []mounted

// find returns the first place that has a file.
func (s searchPath) find(name string) (mounted, bool) {
	i := slices.IndexFunc(s, func(p mounted) bool { return p.has(name) })
	if i < 0 {
		return mounted{}, false
	}
	return s[i], true
}

func (s searchPath) has(name string) bool {
	_, ok := s.find(name)
	return ok
}

func (s searchPath) read(name string, limit int64) ([]byte, error) {
	p, ok := s.find(name)
	if !ok {
		return nil, notFound(name, "it is not there", suggest(name, s.names(".")))
	}
	return p.read(name, limit)
}

func (s searchPath) list(folder string, deep bool) ([]string, error) {
	var all []string
	var failed []error
	for _, p := range s {
		names, err := p.list(folder, deep)
		all, failed = append(all, names...), append(failed, err)
	}
	slices.Sort(all)
	return slices.Compact(all), errors.Join(failed...)
}

// names returns the names in a folder, without those in places that cannot be read.
func (s searchPath) names(folder string) []string {
	names, _ := s.list(folder, false)
	return names
}
