// Package store keeps versions of scripts in ConfigMaps in the server's own namespace, so that they outlive the server and
// the source that they were read from.
//
//   - A [Store] writes and reads them. The name of a ConfigMap has the digest of its content. What is read is compiled and
//     checked like any other script, since somebody may have changed it.
//   - [ScriptVersions] are the versions of one controller's scripts that its ControllerRevisions refer to.
//   - A [Sweeper] removes the ConfigMaps that nothing refers to.
package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"metascript/controller/build"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
)

// A Store reads and writes the ConfigMaps: scripts that revisions refer to, and whole versions of controllers that were good
// last. Each is stored once.
type Store struct {
	Namespace string // of the ConfigMaps
	Writer    plan.Writer
	Live      func(ctx context.Context, o *object.Object) (*object.Object, error) // gets an object from the API server
}

const (
	scriptLabel   = "metacontroller.k8s.io/script-of-revisions" // on the ConfigMaps
	lastGoodLabel = "metacontroller.k8s.io/last-good-version"   // on those that hold a whole version, which was good last
	scriptKey     = "script"                                    // in their data: a ControllerScript in YAML
	hooksKey      = "hooks"                                     // in their data: hooks by name, in YAML, if any has a source of its own
	filesKey      = "files"                                     // in their binaryData: what they were read as, if that is from elsewhere
	scriptTime    = "metacontroller.k8s.io/stored-at"           // an annotation: when it was stored last
)

// NamePrefix is how the names of the ConfigMaps begin. The digest comes after it.
const NamePrefix = "metascript-script-"

// configMap is the one for a digest, without data.
func (s *Store) configMap(digest string) *object.Object {
	o := &object.Object{}
	o.SetAPIVersion("v1")
	o.SetKind("ConfigMap")
	o.SetName(NamePrefix + digest)
	o.SetNamespace(s.Namespace)
	o.SetLabels(map[string]string{scriptLabel: "true"})
	o.SetAnnotations(map[string]string{scriptTime: time.Now().UTC().Format(time.RFC3339)})
	return o
}

// PutScript stores a version of a controller's scripts. One that is stored already is marked as new, so that it is not removed
// before a revision refers to it: a server that is about to remove it for its age gets a conflict.
func (s *Store) PutScript(ctx context.Context, digest string, v build.ScriptVersion) error {
	o := s.configMap(digest)
	if err := encodeScript(o, v); err != nil {
		return fmt.Errorf("store the script for its revisions: %w", err)
	}
	_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "revisions refer to the script"})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there, err := s.Live(ctx, o)
	if err == nil {
		o.SetResourceVersion(there.GetResourceVersion())
		_, err = s.Writer.Do(ctx, plan.Op{Verb: plan.Update, Object: o, Why: "revisions refer to the script again"})
	}
	if kube.Outdated(err) {
		return kube.Requeue(err)
	}
	return err
}

// encodeScript writes a version of scripts into a ConfigMap.
func encodeScript(o *object.Object, v build.ScriptVersion) error {
	data := map[string]any{}
	for key, part := range map[string]struct {
		there bool
		value any
	}{scriptKey: {v.Script != nil, v.Script}, hooksKey: {v.Hooks != nil, v.Hooks}} {
		if !part.there {
			continue
		}
		text, err := yaml.Marshal(part.value)
		if err != nil {
			return err
		}
		data[key] = string(text)
	}
	o.Object["data"] = data
	if v.IsInline() {
		return nil
	}
	files, err := archive(v.Parts)
	if err != nil {
		return err
	}
	packed, err := archiveText(files)
	o.Object["binaryData"] = map[string]any{filesKey: packed}
	return err
}

// script reads a version of scripts. The caller compares its digest with the name.
func (s *Store) script(ctx context.Context, digest string) (build.ScriptVersion, error) {
	o, err := s.Live(ctx, s.configMap(digest))
	if err != nil {
		return build.ScriptVersion{}, err
	}
	return decodeScript(o)
}

func decodeScript(o *object.Object) (v build.ScriptVersion, err error) {
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for key, value := range map[string]any{scriptKey: &v.Script, hooksKey: &v.Hooks} {
		if err := yaml.UnmarshalStrict([]byte(data[key]), value); err != nil {
			return v, err
		}
	}
	for name, h := range v.Hooks {
		if h.Script == nil {
			return v, fmt.Errorf("its hook %s has no script", name)
		}
	}
	if v.IsInline() {
		return v, nil
	}
	var files map[string]archivedPart
	packed, _, _ := unstructured.NestedString(o.Object, "binaryData", filesKey)
	err = restoreText(packed, &files)
	v.Parts = restore(files)
	return v, err
}

// ScriptVersions are the versions of a controller's scripts, for one whose edits of scripts roll out too. They are safe for
// concurrent use.
type ScriptVersions struct {
	Store   *Store
	DryRun  bool
	Digest  string // of the version that runs
	Current build.ScriptVersion

	// Load makes the hooks of a version that was stored.
	Load func(context.Context, build.ScriptVersion) (build.Built, error)

	mu    sync.Mutex             // guards Older
	Older map[string]build.Built // that were loaded, by digest
}

// Keep stores the version that runs, for when it is an older one. It is called before each write of a revision, since a script
// that no revision refers to is removed.
func (v *ScriptVersions) Keep(ctx context.Context) error {
	if v.DryRun {
		return nil // no revision is stored that would refer to it
	}
	return v.Store.PutScript(ctx, v.Digest, v.Current)
}

// Hooks returns the hooks of an older version.
func (v *ScriptVersions) Hooks(ctx context.Context, revision rollout.Revision) (build.Built, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, found := v.Older[revision.Script]; found {
		return known, nil
	}
	then, err := v.Store.script(ctx, revision.Script)
	var hooks build.Built
	if err == nil {
		hooks, err = v.Load(ctx, then)
	}
	if err == nil && hooks.Digest != revision.Script {
		err = fmt.Errorf("it was changed: its digest is %s", hooks.Digest)
	}
	if err != nil {
		return build.Built{}, fmt.Errorf("the script of ControllerRevision %s, in ConfigMap %s/%s, cannot be used: %w; delete the ControllerRevision: its children then move to the latest revision one by one",
			revision.Name, v.Store.Namespace, NamePrefix+revision.Script, err)
	}
	v.Older[revision.Script] = hooks
	return hooks, nil
}

// Forget drops a parent that is gone.
func (v *ScriptVersions) Forget(parent object.Ref) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, older := range v.Older {
		hooks := older.Hooks()
		for _, f := range hooks.Fallbacks() {
			f.Forget(parent)
		}
	}
}
