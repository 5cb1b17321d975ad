package validation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/api/v1alpha1"
	"metascript/engine"
)

// unknown returns an error for every field of obj that an API server would drop. It goes by the rules of
// pruning; what pruning itself reports is only a path as text, which does not lead to the other fields.
func (c *compiled) unknown(obj map[string]any) field.ErrorList {
	if c.preserve {
		return nil
	}
	root := *c.structural
	root.XEmbeddedResource = true // so that its metadata is as in every object
	w := walk{}
	if kind, _ := obj["kind"].(string); strings.HasPrefix(fmt.Sprint(obj["apiVersion"]), v1alpha1.Group+"/") {
		w.kind = kind
	}
	w.value(nil, obj, &root, false)
	return w.errs
}

type walk struct {
	kind string // of the object, if it is a controller
	errs field.ErrorList
}

// value looks at x, whose schema is s. Without a schema nothing below x is known; kept says that unknown fields
// of x itself are none the less preserved.
func (w *walk) value(path *field.Path, x any, s *schema.Structural, kept bool) {
	var items *schema.Structural
	if s != nil {
		kept = kept || s.XPreserveUnknownFields
		items = s.Items
	} else if kept {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		for key, value := range x {
			w.field(path, key, value, s, kept)
		}
	case []any:
		for i, item := range x {
			w.value(path.Index(i), item, items, kept)
		}
	}
}

func (w *walk) field(path *field.Path, key string, value any, s *schema.Structural, kept bool) {
	if s == nil {
		w.report(path.Child(key), key, value, nil)
		return
	}
	if s.XEmbeddedResource && slices.Contains(typeAndMetadata, key) {
		if key == "metadata" {
			w.metadata(path, value)
		}
		return
	}
	if known, ok := s.Properties[key]; ok {
		w.value(path.Child(key), value, &known, false)
		return
	}
	if s.AdditionalProperties != nil {
		w.value(path.Key(key), value, s.AdditionalProperties.Structural, false)
		return
	}
	if !kept {
		w.report(path.Child(key), key, value, slices.Sorted(maps.Keys(s.Properties)))
	}
}

// metadata looks at the metadata of the object at path, whose type is known without a schema.
func (w *walk) metadata(path *field.Path, value any) {
	_, _, unknown, _ := objectmeta.GetObjectMetaWithOptions(map[string]any{"metadata": value},
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true, ParentPath: path})
	for _, at := range unknown {
		w.report(field.NewPath(at), at[strings.LastIndex(at, ".")+1:], nil, metadataFields)
	}
}

// typeAndMetadata are the fields that every object has, whether or not its schema says so.
var typeAndMetadata = []string{"apiVersion", "kind", "metadata"}

// report adds the error about an unknown field. known are the fields that could be in its place.
func (w *walk) report(path *field.Path, key string, value any, known []string) {
	detail := "unknown field"
	text, isText := value.(string)
	_, isList := value.([]any)
	inPlace := meantFields[w.kind][key]
	match := slices.IndexFunc(known, func(name string) bool { return name == "matchLabels" || name == "matchAnnotations" })
	like := engine.Nearest(key, known)
	switch {
	case w.kind == v1alpha1.KindCompositeController && key == "resources" && isList && slices.Contains(known, "childResources"):
		detail = "unknown field; a CompositeController has childResources in its place, and parentResource for its parents"
	case inPlace != "" && slices.Contains(known, inPlace):
		detail = fmt.Sprintf("unknown field; a %s has %s in its place", w.kind, inPlace)
	case key == "selector" && w.kind == v1alpha1.KindCompositeController && slices.Contains(known, "parentResource"):
		detail = "unknown field; the labels of the parents are in parentResource.labelSelector"
	case slices.Contains([]string{"inline", "file", "configMapRef"}, key) && slices.Contains(known, "script"):
		detail = fmt.Sprintf("unknown field; write script: {%s: ...}", key)
	case like != "":
		detail = fmt.Sprintf("unknown field; did you mean %q?", like)
	case key == "kind" && slices.Contains(known, "resource"):
		detail = "unknown field; write resource, with the plural name, such as pods"
	case match >= 0 && isText:
		detail = fmt.Sprintf("unknown field; write %s: {%s: %s}", known[match], key, text)
	}
	w.errs = append(w.errs, field.Forbidden(path, detail))
}

// meantFields are the fields that a kind of controllers has in place of those of the other kind, or of its answers.
var meantFields = map[string]map[string]string{
	v1alpha1.KindCompositeController: {"attachments": "childResources", "children": "childResources", "resources": "parentResource", "parentResources": "parentResource", "parent": "parentResource"},
	v1alpha1.KindDecoratorController: {"childResources": "attachments", "children": "attachments", "parentResource": "resources", "parentResources": "resources"},
}

// metadataFields are the names of the fields of metadata.
var metadataFields = func() []string {
	var names []string
	for f := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()
