package build

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/scripts"
)

// Followed are the ConfigMaps that controllers have scripts in, and no others, as they are now. Each is watched by its
// name, once, however many controllers name it. It is safe for concurrent use.
type ScriptConfigMaps struct {
	caches  *informer.Factory
	changed func(spec.ID) // is told of each controller whose ConfigMap is another than before

	mu   sync.Mutex
	maps map[scripts.Key]*watchedConfigMap
}

type watchedConfigMap struct {
	*informer.Informer
	users map[spec.ID]bool
}

func NewScriptConfigMaps(caches *informer.Factory, changed func(spec.ID)) *ScriptConfigMaps {
	return &ScriptConfigMaps{caches: caches, changed: changed, maps: map[scripts.Key]*watchedConfigMap{}}
}

// follow watches the ConfigMaps that a controller names now, and no longer those that it named before.
func (f *ScriptConfigMaps) Follow(user spec.ID, names []scripts.Key) error {
	for _, m := range f.leave(user, names) {
		m.Close() // not under the lock, for which its handler may be waiting
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		if err := f.open(name, user); err != nil {
			return err
		}
	}
	return nil
}

// leave gives what nobody follows any more once user follows no more than names.
func (f *ScriptConfigMaps) leave(user spec.ID, names []scripts.Key) []*watchedConfigMap {
	f.mu.Lock()
	defer f.mu.Unlock()
	var unused []*watchedConfigMap
	for name, m := range f.maps {
		if slices.Contains(names, name) {
			continue
		}
		if delete(m.users, user); len(m.users) == 0 {
			delete(f.maps, name)
			unused = append(unused, m)
		}
	}
	return unused
}

// open begins to watch a ConfigMap, unless it is watched already.
func (f *ScriptConfigMaps) open(name scripts.Key, user spec.ID) error {
	if m := f.maps[name]; m != nil {
		m.users[user] = true
		return nil
	}
	m := &watchedConfigMap{
		f.caches.Open(informer.Spec{Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Namespace: name.Namespace, Name: name.Name}),
		map[spec.ID]bool{user: true},
	}
	f.maps[name] = m
	err := m.Handle(func(old, current *object.Object) {
		if !reflect.DeepEqual(TextOf(old), TextOf(current)) {
			f.tell(m)
		}
	})
	if err != nil {
		return fmt.Errorf("watch ConfigMap %s: %w", name, err)
	}
	return nil
}

// tell tells of the controllers that name a ConfigMap.
func (f *ScriptConfigMaps) tell(m *watchedConfigMap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for user := range m.users {
		f.changed(user)
	}
}

// settled waits until what a controller names is there, or known not to be, or cannot be read.
func (f *ScriptConfigMaps) Settled(ctx context.Context, names []scripts.Key) {
	for _, name := range names {
		f.mu.Lock()
		m := f.maps[name]
		f.mu.Unlock()
		if m != nil {
			m.Settled(ctx)
		}
	}
}

// get gives a ConfigMap as it is now.
func (f *ScriptConfigMaps) Get(namespace, name string) (*scripts.ConfigMap, error) {
	f.mu.Lock()
	m := f.maps[scripts.Key{Namespace: namespace, Name: name}]
	f.mu.Unlock()
	if m == nil {
		return nil, fmt.Errorf("ConfigMap %s/%s is not watched", namespace, name)
	}
	if o := m.Get(object.Key{Namespace: namespace, Name: name}); o != nil {
		return TextOf(o), nil
	}
	if err := m.Trouble(); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return nil, fmt.Errorf("it does not exist")
}

// stale says which of the ConfigMaps that a controller names are not kept up to date.
func (f *ScriptConfigMaps) Stale(user spec.ID) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for name, m := range f.maps {
		if !m.users[user] {
			continue
		}
		if err := m.Stale(); err != nil {
			all = append(all, fmt.Sprintf("changes of ConfigMap %s go unnoticed: %v", name, err))
		}
	}
	slices.Sort(all)
	return all
}

// TextOf is what a ConfigMap holds; nil for none.
func TextOf(o *object.Object) *scripts.ConfigMap {
	if o == nil {
		return nil
	}
	text := &scripts.ConfigMap{}
	text.Data, _, _ = unstructured.NestedStringMap(o.Object, "data")
	binary, _, _ := unstructured.NestedMap(o.Object, "binaryData")
	for key := range binary {
		text.Binary = append(text.Binary, key)
	}
	slices.Sort(text.Binary)
	return text
}

// close ends all watches.
func (f *ScriptConfigMaps) Close() {
	f.mu.Lock()
	all := f.maps
	f.maps = map[scripts.Key]*watchedConfigMap{}
	f.mu.Unlock()
	for _, m := range all {
		m.Close()
	}
}
