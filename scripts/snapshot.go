package scripts

import "slices"

// A snapshot reads the sources for one attempt: each file and each ConfigMap once.
type snapshot struct {
	sources    Sources
	views      []*view        // of the scripts directories; nil until open is called
	configMaps map[Key]result // those that were read; Key.Key is ""
}

// A result is a ConfigMap, or the error of reading it.
type result struct {
	*ConfigMap
	err error
}

// open opens the scripts directories, unless they are open.
func (m *snapshot) open() {
	if m.sources.Folders == nil || m.views != nil {
		return
	}
	for _, dir := range m.sources.Folders.dirs {
		m.views = append(m.views, open(dir))
	}
}

func (m *snapshot) close() {
	for _, v := range m.views {
		v.close()
	}
}

// unchanged reports whether all files are still as they were read.
func (m *snapshot) unchanged() bool {
	return !slices.ContainsFunc(m.views, func(v *view) bool { return !v.unchanged() })
}

// configMap returns a ConfigMap. It reads the ConfigMap the first time.
func (m *snapshot) configMap(namespace, name string) (*ConfigMap, error) {
	if m.sources.ConfigMaps == nil {
		return nil, notFound("ConfigMap "+namespace+"/"+name, "there is no cluster to read it from", "")
	}
	key := Key{Namespace: namespace, Name: name}
	seen, ok := m.configMaps[key]
	if !ok {
		seen.ConfigMap, seen.err = m.sources.ConfigMaps(namespace, name)
		m.configMaps[key] = seen
	}
	return seen.ConfigMap, seen.err
}
