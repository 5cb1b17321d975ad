package scripts

import (
	"testing/fstest"
	"time"

	"metascript/engine"
)

// Sources are where scripts' source is found.
type Sources struct {
	Folders    *Folders   // nil: no files
	ConfigMaps ConfigMaps // nil: no ConfigMaps
}

// ConfigMaps gives a ConfigMap as it is now; an error says why it cannot be read. Nobody changes what it returns.
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
	Doubts []string // warnings: what is accepted, and is probably a mistake
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
	made, failed := s.AssembleAll(map[string]Wanted{"": w}, everything)
	return made[""], failed[""]
}

// AssembleAll reads scripts, by names of any kind, so that all of them together are of one version. Each is either
// made or failed.
func (s Sources) AssembleAll(wanted map[string]Wanted, everything bool) (made map[string]Assembled, failed map[string]error) {
	pause := firstPause
	for range maxAttempts {
		var settled bool
		if made, failed, settled = s.attempt(wanted, everything); settled {
			return made, failed
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
	failed = map[string]error{}
	for name, w := range wanted {
		failed[name] = &Error{Reason: Unsettled, Source: w.source(), Msg: "its files change while they are read", Hint: "it is tried again; write less often"}
	}
	return nil, failed
}

// attempt reads scripts once. settled reports whether no file changed meanwhile; if one did, made and failed mean nothing.
func (s Sources) attempt(wanted map[string]Wanted, everything bool) (made map[string]Assembled, failed map[string]error, settled bool) {
	m := snapshot{sources: s, configMaps: map[Key]answer{}}
	defer m.close()
	made, failed = map[string]Assembled{}, map[string]error{}
	readings := map[string]*reading{}
	for name, w := range wanted {
		if w.UsesFiles() {
			m.open()
		}
		r := &reading{snapshot: &m, wanted: &w, everything: everything}
		if script, err := r.assemble(); err != nil {
			failed[name] = err
		} else {
			made[name], readings[name] = script, r
		}
	}
	settled = m.unchanged()
	for name, r := range readings {
		if script := made[name]; settled {
			script.Doubts = r.doubts(script.Files.(fstest.MapFS))
			made[name] = script
		}
	}
	return made, failed, settled
}
