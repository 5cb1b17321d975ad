package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/engine"
)

// A storedVersion is a version as it is stored in a ConfigMap.
type storedVersion struct {
	Spec    any                     `json:"spec"`
	Scripts map[string]archivedPart `json:"scripts"`
}

// versionKey is the key of a stored version, in binaryData.
const versionKey = "version"

// maxConfigMap is how much a ConfigMap may hold.
const maxConfigMap = 1 << 20

// ErrTooLarge is the error for a version that does not fit into a ConfigMap.
var ErrTooLarge = fmt.Errorf("spec and scripts are larger than the %s that a ConfigMap may hold, even compressed", engine.Size(maxConfigMap))

// PutVersion stores a version, unless it is stored and the controller's status names it. A version that no status names is
// marked as new, so that it is not removed before the status names it. If somebody changed what is stored, it is stored again.
func (s *Store) PutVersion(ctx context.Context, c *build.Candidate) error {
	o := s.configMap(c.Identity)
	archived, err := archive(c.Parts)
	if err != nil {
		return err
	}
	text, err := archiveText(storedVersion{c.Object.Object["spec"], archived})
	if err != nil {
		return err
	}
	if base64.StdEncoding.DecodedLen(len(text)) > maxConfigMap {
		return ErrTooLarge
	}
	o.SetLabels(map[string]string{lastGoodLabel: "true"})
	data := map[string]any{versionKey: text}
	named := c.Status.Script != nil && c.Status.Script.LastGood == o.GetName()
	if !named { // most likely it is not stored, and a create saves the get
		o.Object["binaryData"] = data
		_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "the last good version of " + c.ID().String()})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	there, err := s.Live(ctx, o)
	if err == nil && named && reflect.DeepEqual(there.Object["binaryData"], data) {
		return nil
	}
	verb := plan.Update
	if apierrors.IsNotFound(err) {
		verb = plan.Create
	} else if err != nil {
		return err
	} else {
		o.SetResourceVersion(there.GetResourceVersion())
	}
	o.Object["binaryData"] = data
	_, err = s.Writer.Do(ctx, plan.Op{Verb: verb, Object: o, Why: "the last good version of " + c.ID().String()})
	return err
}

// Version reads the stored version of that name of a controller object. The content has the digest in the name, or else there is
// an error.
func (s *Store) Version(ctx context.Context, name string, of *object.Object) (*build.Candidate, error) {
	stored, err := s.Live(ctx, s.configMap(strings.TrimPrefix(name, NamePrefix)))
	if err != nil {
		return nil, err
	}
	text, _, _ := unstructured.NestedString(stored.Object, "binaryData", versionKey)
	var version storedVersion
	if err := restoreText(text, &version); err != nil {
		return nil, err
	}
	c := &build.Candidate{Object: object.Copy(of), Parts: restore(version.Scripts)}
	if !reflect.DeepEqual(of.Object["spec"], version.Spec) {
		c.Object.Object["spec"] = version.Spec
		ran, _, _ := unstructured.NestedInt64(of.Object, "status", "activeGeneration")
		c.Object.SetGeneration(cmp.Or(ran, of.GetGeneration()-1))
	}
	if c.Identity, err = build.Identity(version.Spec, c.Parts); err != nil {
		return nil, err
	}
	if NamePrefix+c.Identity != name {
		return nil, errors.New("it was changed: its content does not have that name")
	}
	c.Declaration, err = spec.Read(c.Object)
	return c, err
}
