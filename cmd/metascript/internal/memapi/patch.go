package memapi

import (
	"encoding/json"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/object"
)

// patch changes an object, or creates one if it is applied.
func (s *Server) patch(r *request) (int, any, error) {
	if apitypes.PatchType(r.contentType()) == apitypes.ApplyYAMLPatchType {
		return s.apply(r)
	}
	o, err := s.update(r, func(o *object.Object) (*object.Object, error) { return r.patched(o) })
	return http.StatusOK, o, err
}

// patched returns o with the patch of a request.
func (r *request) patched(o *object.Object) (*object.Object, error) {
	text, err := json.Marshal(o.Map())
	if err != nil {
		return nil, err
	}
	switch apitypes.PatchType(r.contentType()) {
	case apitypes.MergePatchType:
		text, err = jsonpatch.MergePatch(text, r.body)
	case apitypes.JSONPatchType:
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(r.body); err == nil {
			if text, err = patch.Apply(text); err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
			}
		}
	case apitypes.StrategicMergePatchType:
		of, known := r.kind.strategy.(typed)
		if !known {
			return nil, unsupported("the body of the request was in an unknown format - accepted media types include: " +
				"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
		}
		text, err = strategicpatch.StrategicMergePatch(text, r.body, of.zero())
	default:
		return nil, unsupported("415: Unsupported Media Type")
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	patched, err := decode(text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, nil
}

// unsupported returns the error of a body in another format.
func unsupported(message string) error {
	err := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", schema.GroupResource{}, "", "", 0, false)
	err.ErrStatus.Message = message
	return err
}

// apply does a server-side apply.
func (s *Server) apply(r *request) (int, any, error) {
	if r.query.Get("fieldManager") == "" {
		required := field.ErrorList{field.Required(field.NewPath("fieldManager"), "is required for apply patch")}
		return 0, nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "", required)
	}
	config, err := decode(r.body)
	if err != nil {
		return 0, nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	before := r.kind.inVersion(s.objects[r.resource()][r.Key])
	if before == nil && r.subresource != "" {
		return 0, nil, apierrors.NewNotFound(r.resource(), r.Name)
	}
	live := r.kind.empty()
	if before != nil {
		live = object.Copy(before)
	}
	o, err := r.kind.recordApply(live, config, r.manager(), r.flag("force"), r.subresource)
	if err != nil {
		return 0, nil, err
	}
	if err := r.place(o); err != nil {
		return 0, nil, err
	}
	if err := r.normalize(o); err != nil {
		return 0, nil, err
	}
	if before != nil {
		o, err = s.replace(r, before, o)
		return http.StatusOK, o, err
	}
	if err := s.checkNamespace(r, o); err != nil {
		return 0, nil, err
	}
	o, err = s.insert(r, o)
	return http.StatusCreated, o, err
}
