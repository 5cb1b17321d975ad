package scripts

import (
	"testing/fstest"
	"time"

	"metascript/engine"
)

// Sources are the places from which scripts are read.
type Sources struct {
	Folders    *Folders   // the scripts directories; nil: there are none
	ConfigMaps ConfigMaps // reads ConfigMaps; nil: there is no cluster
}

// ConfigMaps returns a ConfigMap as it is now, or an error that says why it cannot be read. The result is read-only.
type ConfigMaps func(namespace, name string) (*ConfigMap, error)

// A ConfigMap has the data of a ConfigMap by key, and the keys of its binary data.
type ConfigMap struct {
	Data   map[string]string
	Binary []string
}

// An Assembled script is ready to be compiled.
type Assembled struct {
	engine.Script
	Source   string   // "inline", "file catset/sync.js" or "configMap namespace/name/key"
	Warnings []string // about what is accepted and is probably a mistake
}

const (
	maxAttempts = 20                    // to read scripts while no file changes
	firstPause  = time.Millisecond      // between the first two attempts; it doubles after each
	maxPause    = 50 * time.Millisecond // between any two attempts
)

// Assemble reads a script: its entry and all files that the entry may load, all of one version. For an inline script these are
// all its modules. If everything is set, it returns all files that the script could load and that can be read; this is for
// hints in errors about missing files.
//
// An error is an [*Error], or says what is wrong in w.
func (s Sources) Assemble(w Wanted, everything bool) (Assembled, error) {
	made, failed := s.AssembleAll(map[string]Wanted{"": w}, everything)
	return made[""], failed[""]
}

// AssembleAll reads scripts by name, all of one version. Each script is in one of the results.
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

// attempt reads scripts once. settled reports whether no file changed meanwhile; if it is false, the other results are
// invalid.
func (s Sources) attempt(wanted map[string]Wanted, everything bool) (made map[string]Assembled, failed map[string]error, settled bool) {
	m := snapshot{sources: s, configMaps: map[Key]result{}}
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
			script.Warnings = r.warnings(script.Files.(fstest.MapFS))
			made[name] = script
		}
	}
	return made, failed, settled
}
