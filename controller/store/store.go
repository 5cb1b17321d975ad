// Package store stores versions of scripts in ConfigMaps in the server's own namespace, so that they are available after a
// restart of the server, and after an edit of their source.
//
//   - A [Store] writes and reads them. The name of a ConfigMap contains the digest of its content. A stored script is compiled
//     and validated like any other, since a user may have changed it.
//   - [ScriptVersions] are the versions of the scripts of one controller to which its ControllerRevisions refer.
//   - A [Sweeper] deletes the ConfigMaps to which nothing refers.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"metascript/controller/build"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
)

// A Store reads and writes the ConfigMaps. There are two kinds: scripts to which revisions refer, and last known good versions of
// controllers with their spec. Equal content is stored once.
type Store struct {
	Namespace string // of the ConfigMaps
	Writer    plan.Writer
	GetLive   func(ctx context.Context, o *object.Object) (*object.Object, error) // gets an object from the API server
}

const (
	ScriptLabel   = "metacontroller.k8s.io/script-of-revisions" // on the ConfigMaps
	LastGoodLabel = "metacontroller.k8s.io/last-good-version"   // on those with a last known good version
	scriptKey     = "script"                                    // in their data: a ControllerScript in YAML
	hooksKey      = "hooks"                                     // in their data: hooks by name, in YAML, if any has its own source
	filesKey      = "files"                                     // in their binaryData: the files of the scripts, if they are not inline
	scriptTime    = "metacontroller.k8s.io/stored-at"           // an annotation: when it was last stored, in RFC 3339
	scriptUsers   = "metacontroller.k8s.io/stored-for"          // an annotation: for which controllers it was stored; see Owner
)

// NamePrefix is the prefix of the names of the ConfigMaps. The rest is the digest, and for a controller with an account its UID.
const NamePrefix = "metascript-script-"

// configMap returns the ConfigMap of that name, without data.
func (s *Store) configMap(name string) *object.Object {
	o := &object.Object{}
	o.SetAPIVersion("v1")
	o.SetKind("ConfigMap")
	o.SetName(name)
	o.SetNamespace(s.Namespace)
	o.SetLabels(map[string]string{ScriptLabel: "true"})
	o.SetAnnotations(map[string]string{scriptTime: time.Now().UTC().Format(time.RFC3339)})
	return o
}

// putScript stores a version of the scripts of a controller. If it is stored already, putScript updates its timestamp, so that a
// Sweeper does not delete it before a revision refers to it: a Sweeper that is deleting it gets a conflict.
// The ConfigMap has the owners that stored it; see script.
func (s *Store) putScript(ctx context.Context, digest string, v build.ScriptVersion, of Owner) error {
	o := s.configMap(of.nameOf(digest))
	of.addTo(o, o)
	if err := encodeScript(o, v); err != nil {
		return fmt.Errorf("store the script for its revisions: %w", err)
	}
	_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "revisions refer to the script"})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing, err := s.GetLive(ctx, o)
	if err == nil {
		of.addTo(o, existing)
		o.SetResourceVersion(existing.GetResourceVersion())
		_, err = s.Writer.Do(ctx, plan.Op{Verb: plan.Update, Object: o, Why: "revisions refer to the script again"})
	}
	if kube.Outdated(err) {
		return kube.Requeue(err)
	}
	return err
}

// An Owner is the controller object that a version belongs to.
type Owner struct {
	UID        types.UID
	HasAccount bool // spec.serviceAccount is set
}

// OwnerOf returns the Owner of the versions of a controller object.
func OwnerOf(c *build.Candidate) Owner {
	return Owner{c.Object.GetUID(), c.Settings.ServiceAccount != nil}
}

// nameOf returns the name of the ConfigMap for scripts of the owner. Those of a controller with an account are its own: another
// controller can neither read nor replace them. Controllers without an account, which act as the server, share theirs.
func (w Owner) nameOf(digest string) string {
	if w.HasAccount {
		return NamePrefix + digest + "." + string(w.UID)
	}
	return NamePrefix + digest
}

// digestIn returns the digest in the name of a ConfigMap.
func digestIn(name string) string {
	digest, _, _ := strings.Cut(strings.TrimPrefix(name, NamePrefix), ".")
	return digest
}

// mostUsers is how many UIDs the annotation has at most: it must not be large. The oldest is dropped.
const mostUsers = 2000

// addTo sets the users of o to those of before and the owner.
func (w Owner) addTo(o, before *object.Object) {
	users := slices.DeleteFunc(usersOf(before), func(other string) bool { return other == string(w.UID) })
	users = append(users, string(w.UID))
	annotations := o.GetAnnotations()
	annotations[scriptUsers] = strings.Join(users[max(0, len(users)-mostUsers):], ",")
	o.SetAnnotations(annotations)
}

// hasStored reports whether the owner has stored the ConfigMap o.
func (w Owner) hasStored(o *object.Object) bool { return slices.Contains(usersOf(o), string(w.UID)) }

// errNotOfController is the error for a version that another controller object has stored.
var errNotOfController = errors.New("it is not a version of this controller")

// usersOf returns the UIDs of the controller objects that stored a ConfigMap; nil if that was not recorded.
func usersOf(o *object.Object) []string {
	text := o.GetAnnotations()[scriptUsers]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// encodeScript sets the data of a ConfigMap to a version of scripts.
func encodeScript(o *object.Object, v build.ScriptVersion) error {
	data := map[string]any{}
	for key, part := range map[string]struct {
		exists bool
		value  any
	}{scriptKey: {v.Script != nil, v.Script}, hooksKey: {v.Hooks != nil, v.Hooks}} {
		if !part.exists {
			continue
		}
		text, err := yaml.Marshal(part.value)
		if err != nil {
			return err
		}
		data[key] = string(text)
	}
	o.Map()["data"] = data
	if v.IsInline() {
		return nil
	}
	files, err := archive(v.Parts)
	if err != nil {
		return err
	}
	archived, err := archiveText(files)
	o.Map()["binaryData"] = map[string]any{filesKey: archived}
	return err
}

// script reads a version of scripts of a controller: from a ConfigMap of its own, or else from one that it has stored before it had an
// account, or after. The caller compares the digest of the content.
//
// digest may be any text, since it is from a ControllerRevision, which users of parents may edit. A dot in it could make it the name of
// a ConfigMap of another controller.
func (s *Store) script(ctx context.Context, digest string, of Owner) (build.ScriptVersion, error) {
	if strings.Contains(digest, ".") {
		return build.ScriptVersion{}, errNotOfController
	}
	o, err := s.GetLive(ctx, s.configMap(of.nameOf(digest)))
	if apierrors.IsNotFound(err) {
		other := Owner{of.UID, !of.HasAccount}
		before, otherErr := s.GetLive(ctx, s.configMap(other.nameOf(digest)))
		switch {
		case otherErr == nil && of.hasStored(before):
			o, err = before, nil
		case of.HasAccount && (otherErr == nil || apierrors.IsNotFound(otherErr)):
			err = errNotOfController // the same for both: it must not show whether another controller stored it
		}
	}
	if err != nil {
		return build.ScriptVersion{}, err
	}
	return decodeScript(o)
}

// decodeScript reads a version of scripts from a ConfigMap.
func decodeScript(o *object.Object) (v build.ScriptVersion, err error) {
	data := o.TextsAt("data")
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
	err = restoreText(o.TextAt("binaryData", filesKey), &files)
	v.Parts = restore(files)
	return v, err
}

// ScriptVersions are the versions of the scripts of a controller for which scripts are part of a revision. They are safe for
// concurrent use.
type ScriptVersions struct {
	Store   *Store
	DryRun  bool // store nothing
	Owner   Owner
	Digest  string              // of Current
	Current build.ScriptVersion // the version that is active

	// Load compiles a stored version.
	Load func(context.Context, build.ScriptVersion) (build.Built, error)

	// mu guards Older. It is locked while a version is read and loaded, so that this happens once. While it is locked, the locks of
	// the hook.Fallbacks in Older may be taken.
	mu    sync.Mutex
	Older map[string]build.Built // the loaded older versions, by digest; not nil
}

// Keep stores Current, which is needed when it is an older version. It is called before each write of a revision, since the
// Sweeper deletes a script to which no revision refers.
func (v *ScriptVersions) Keep(ctx context.Context) error {
	if v.DryRun {
		return nil // no revision is written either
	}
	return v.Store.putScript(ctx, v.Digest, v.Current, v.Owner)
}

// Hooks returns the hooks of the version to which a revision refers. It loads each version once.
func (v *ScriptVersions) Hooks(ctx context.Context, revision rollout.Revision) (build.Built, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, found := v.Older[revision.Script]; found {
		return known, nil
	}
	older, err := v.Store.script(ctx, revision.Script, v.Owner)
	var hooks build.Built
	if err == nil {
		hooks, err = v.Load(ctx, older)
	}
	if err == nil && hooks.Digest != revision.Script {
		err = fmt.Errorf("it was changed: its digest is %s", hooks.Digest)
	}
	if err != nil {
		return build.Built{}, fmt.Errorf("the script of ControllerRevision %s, in ConfigMap %s/%s, cannot be used: %w; delete the ControllerRevision: its children then move to the latest revision one by one",
			revision.Name, v.Store.Namespace, v.Owner.nameOf(revision.Script), err)
	}
	v.Older[revision.Script] = hooks
	return hooks, nil
}

// Forget drops the state about a parent, after it was deleted.
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
