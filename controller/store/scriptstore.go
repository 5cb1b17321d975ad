package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
)

// A scriptStore keeps scripts that revisions refer to, each once, in ConfigMaps in the server's own namespace.
type Store struct {
	Namespace string
	Writer    plan.Writer
	Live      func(ctx context.Context, o *object.Object) (*object.Object, error)
}

const (
	scriptLabel   = "metacontroller.k8s.io/script-of-revisions" // on the ConfigMaps
	lastGoodLabel = "metacontroller.k8s.io/last-good-version"   // on those that hold a whole version, for good.go
	scriptKey     = "script"                                    // in their data: a ControllerScript in YAML
	filesKey      = "files"                                     // in their binaryData: what it was read as, if that is from elsewhere
	scriptTime    = "metacontroller.k8s.io/stored-at"           // an annotation: when one was stored last
	NamePrefix    = "metascript-script-"                        // of their names, before the digest
)

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

// put stores a script. One that is there is marked as new, so that nobody removes it before a revision refers to it: who
// has judged it by its age before gets a conflict.
func (s *Store) PutScript(ctx context.Context, digest string, script *v1alpha1.ControllerScript, part build.Parts) error {
	text, err := yaml.Marshal(script)
	if err != nil {
		return fmt.Errorf("store the script for its revisions: %w", err)
	}
	o := s.configMap(digest)
	o.Object["data"] = map[string]any{scriptKey: string(text)}
	if !contained(script) {
		files, err := archive(part)
		if err != nil {
			return fmt.Errorf("store the script for its revisions: %w", err)
		}
		packed, err := archiveText(files)
		if err != nil {
			return fmt.Errorf("store the script for its revisions: %w", err)
		}
		o.Object["binaryData"] = map[string]any{filesKey: packed}
	}
	_, err = s.Writer.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "revisions refer to the script"})
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

// get reads a script. Whether it is what its name says, is for the caller to find out.
func (s *Store) script(ctx context.Context, digest string) (*v1alpha1.ControllerScript, build.Parts, error) {
	o, err := s.Live(ctx, s.configMap(digest))
	if err != nil {
		return nil, nil, err
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", scriptKey)
	script := &v1alpha1.ControllerScript{}
	if err := yaml.UnmarshalStrict([]byte(text), script); err != nil || contained(script) {
		return script, nil, err
	}
	var files map[string]archivedPart
	packed, _, _ := unstructured.NestedString(o.Object, "binaryData", filesKey)
	err = restoreText(packed, &files)
	return script, restore(files), err
}

// contained reports whether a script needs nothing that is not in the controller object itself.
func contained(script *v1alpha1.ControllerScript) bool {
	return script.Inline != "" && len(script.Libraries) == 0
}

// scriptVersions are the versions of a controller's script whose edits roll out too. It is safe for concurrent use.
type ScriptVersions struct {
	Store  *Store
	DryRun bool
	Digest string // of the version that runs
	Script *v1alpha1.ControllerScript
	Part   build.Parts // what it was read as
	Load   func(ctx context.Context, script *v1alpha1.ControllerScript, part build.Parts) (build.Built, error)

	mu    sync.Mutex
	Older map[string]build.Built // by digest
}

// keep stores the version that runs, so that it is there when it is an older one. It comes before each write of a
// revision, since a script that none refers to is removed.
func (v *ScriptVersions) Keep(ctx context.Context) error {
	if v.DryRun {
		return nil // no revision is stored that would refer to it
	}
	return v.Store.PutScript(ctx, v.Digest, v.Script, v.Part)
}

// hooks are those of an older version. What is stored is compiled like any script, and not taken at its word.
func (v *ScriptVersions) Hooks(ctx context.Context, revision rollout.Revision) (build.Built, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, found := v.Older[revision.Script]; found {
		return known, nil
	}
	script, part, err := v.Store.script(ctx, revision.Script)
	var hooks build.Built
	if err == nil {
		hooks, err = v.Load(ctx, script, part)
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

// forget drops a parent that is gone.
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
