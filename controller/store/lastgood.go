package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A storedVersion is the stored form of a version of a controller.
type storedVersion struct {
	Spec    any                     `json:"spec"`
	Scripts map[string]archivedPart `json:"scripts"`
}

// versionKey is the key of a stored version in binaryData of its ConfigMap.
const versionKey = "version"

// maxConfigMap is the limit of the data of a ConfigMap in bytes.
const maxConfigMap = 1 << 20

// ErrTooLarge is the error for a version that does not fit into a ConfigMap.
var ErrTooLarge = fmt.Errorf("spec and scripts are larger than the %s that a ConfigMap may hold, even compressed", engine.Size(maxConfigMap))

// PutVersion stores a version of a controller, unless it is stored already and the status of the controller object names it. If
// the status does not name it, PutVersion updates its timestamp, so that the Sweeper does not delete it before the status names
// it. If the stored version was changed, it is replaced. The error is ErrTooLarge if it does not fit into a ConfigMap.
func (s *Store) PutVersion(ctx context.Context, c *build.Candidate) error {
	o := s.configMap(NamePrefix + c.Identity)
	archived, err := archive(c.Parts)
	if err != nil {
		return err
	}
	current, _ := c.Object.Field("spec")
	text, err := archiveText(storedVersion{build.WithoutShadow(current), archived})
	if err != nil {
		return err
	}
	if base64.StdEncoding.DecodedLen(len(text)) > maxConfigMap {
		return ErrTooLarge
	}
	o.SetLabels(map[string]string{LastGoodLabel: "true"})
	OwnerOf(c).addTo(o, o)
	data := map[string]any{versionKey: text}
	named := c.Status.Script != nil && c.Status.Script.LastGood == o.GetName()
	if !named { // it is probably not stored, so try to create it without a get
		o.Map()["binaryData"] = data
		_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "the last good version of " + c.ID().String()})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	existing, err := s.GetLive(ctx, o)
	if err == nil && named && reflect.DeepEqual(existing.Map()["binaryData"], data) && (!OwnerOf(c).HasAccount || OwnerOf(c).hasStored(existing)) {
		return nil
	}
	verb := plan.Update
	if apierrors.IsNotFound(err) {
		verb = plan.Create
	} else if err != nil {
		return err
	} else {
		OwnerOf(c).addTo(o, existing)
		o.SetResourceVersion(existing.GetResourceVersion())
	}
	o.Map()["binaryData"] = data
	_, err = s.Writer.Do(ctx, plan.Op{Verb: verb, Object: o, Why: "the last good version of " + c.ID().String()})
	return err
}

// Version reads the stored version with this name of a controller object. If the spec differs from that of the object, the
// generation is status.activeGeneration of the object, or else the one before its own. It is an error if the digest of the
// content is not the one in the name, or if the version has an account and was not stored by this controller object.
func (s *Store) Version(ctx context.Context, name string, of *object.Object) (*build.Candidate, error) {
	stored, err := s.GetLive(ctx, s.configMap(name))
	if err != nil {
		return nil, err
	}
	text := stored.TextAt("binaryData", versionKey)
	var version storedVersion
	if err := restoreText(text, &version); err != nil {
		return nil, err
	}
	c := &build.Candidate{Object: object.Copy(of), Parts: restore(version.Scripts)}
	if current, _ := of.Field("spec"); !reflect.DeepEqual(build.WithoutShadow(current), build.WithoutShadow(version.Spec)) {
		c.Object.Map()["spec"] = version.Spec
		value, _ := of.At("status", "activeGeneration")
		active, _ := value.(int64)
		c.Object.SetGeneration(cmp.Or(active, of.GetGeneration()-1))
	}
	if c.Identity, err = build.Identity(version.Spec, c.Parts); err != nil {
		return nil, err
	}
	if NamePrefix+c.Identity != name {
		return nil, errors.New("it was changed: its content does not have that name")
	}
	if c.Declaration, err = spec.Read(c.Object); err == nil && OwnerOf(c).HasAccount && !OwnerOf(c).hasStored(stored) {
		return nil, errNotOfController
	}
	return c, err
}

// MayPass reports whether err, from reading or loading the last good version, may not occur at a later try: a request to the
// API server failed, or a script ran out of time. It is false if there is no such version, or if the version does not load.
func MayPass(err error) bool {
	var answer apierrors.APIStatus
	var network net.Error
	switch {
	case apierrors.IsNotFound(err):
		return false
	case errors.As(err, &answer), errors.As(err, &network):
		return true
	}
	return throttle.Transient(err)
}
