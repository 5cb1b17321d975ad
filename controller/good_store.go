package controller

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

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
)

// A storedVersion is how a version is kept in a ConfigMap.
type storedVersion struct {
	Spec    any                   `json:"spec"`
	Scripts map[string]packedPart `json:"scripts"`
}

// versionKey is the key of a stored version, in binaryData.
const versionKey = "version"

// maxConfigMap is how much a ConfigMap may hold.
const maxConfigMap = 1 << 20

var errTooLarge = fmt.Errorf("spec and scripts are larger than the %s that a ConfigMap may hold, even compressed", engine.Size(maxConfigMap))

// putVersion stores a version, unless it is there and the controller's status names it. One that nothing names is marked as
// new, so that nobody removes it before the status does; one that was changed is mended.
func (s *scriptStore) putVersion(ctx context.Context, c *candidate) error {
	o := s.configMap(c.identity)
	packed, err := archive(c.parts)
	if err != nil {
		return err
	}
	text, err := pack(storedVersion{c.object.Object["spec"], packed})
	if err != nil {
		return err
	}
	if base64.StdEncoding.DecodedLen(len(text)) > maxConfigMap {
		return errTooLarge
	}
	o.SetLabels(map[string]string{goodLabel: "true"})
	data := map[string]any{versionKey: text}
	named := c.Status.Script != nil && c.Status.Script.LastGood == o.GetName()
	if !named { // most likely it is not there, and need not be looked for
		o.Object["binaryData"] = data
		_, err := s.write.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "the last good version of " + c.id().String()})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	there, err := s.live(ctx, o)
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
	_, err = s.write.Do(ctx, plan.Op{Verb: verb, Object: o, Why: "the last good version of " + c.id().String()})
	return err
}

// getVersion reads the stored version of that name of a controller object. It is what its name says, or an error.
func (s *scriptStore) getVersion(ctx context.Context, name string, of *object.Object) (*candidate, error) {
	stored, err := s.live(ctx, s.configMap(strings.TrimPrefix(name, scriptPrefix)))
	if err != nil {
		return nil, err
	}
	text, _, _ := unstructured.NestedString(stored.Object, "binaryData", versionKey)
	var version storedVersion
	if err := unpack(text, &version); err != nil {
		return nil, err
	}
	c := &candidate{object: object.Copy(of), parts: unpacked(version.Scripts)}
	if !reflect.DeepEqual(of.Object["spec"], version.Spec) {
		c.object.Object["spec"] = version.Spec
		ran, _, _ := unstructured.NestedInt64(of.Object, "status", "activeGeneration")
		c.object.SetGeneration(cmp.Or(ran, of.GetGeneration()-1))
	}
	if c.identity, err = identity(version.Spec, c.parts); err != nil {
		return nil, err
	}
	if scriptPrefix+c.identity != name {
		return nil, errors.New("it was changed: its content does not have that name")
	}
	c.declaration, err = declare(c.object)
	return c, err
}
