package informer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/engine/packed"
)

// A decoder makes packed objects of the JSON text of objects, lists and watch events. It leaves out managedFields, and with
// Spec.MetadataOnly all fields but apiVersion, kind and metadata. It is not safe for concurrent use.
type decoder struct {
	parser    packed.Parser
	ownership func(managedFields []byte) ownership.Fields // see Factory.Ownership
	fields    []byte                                      // the text of the managedFields of the object that is being parsed; nil if it has none
}

// newDecoder returns a decoder for a cache.
func newDecoder(of Spec, ownership func(managedFields []byte) ownership.Fields) *decoder {
	d := &decoder{ownership: ownership}
	d.parser.Drop = func(outer, key string) bool {
		if outer == "metadata" {
			return key == "managedFields"
		}
		return of.MetadataOnly && outer == "" && key != "metadata"
	}
	if of.MetadataOnly { // most often the kind is PartialObjectMetadata
		d.parser.Missing = map[string]string{"apiVersion": of.Resource.GroupVersion().String(), "kind": of.Kind}
	}
	d.parser.Dropped = func(outer, _ string, text []byte) {
		if outer == "metadata" {
			d.fields = text
		}
	}
	return d
}

// object decodes an object.
func (d *decoder) object(text []byte) (*cached, error) {
	d.fields = nil
	content, err := d.parser.Parse(text)
	if err != nil {
		return nil, err
	}
	o := &cached{Object: object.MakePacked(content)}
	if d.fields != nil && d.ownership != nil {
		if fields := d.ownership(d.fields); fields.Set != "" {
			o.fields = &fields
		}
	}
	return o, nil
}

// eventStart is the text before the object of a watch event, as API servers write it, without the type.
const eventStart = `{"type":"`

// event decodes a watch event.
func (d *decoder) event(text []byte) (watch.EventType, runtime.Object, error) {
	if rest, ok := bytes.CutPrefix(text, []byte(eventStart)); ok {
		kind, rest, _ := bytes.Cut(rest, []byte(`","object":`))
		if rest, ok := bytes.CutSuffix(rest, []byte("}")); ok && plainEvent(kind) {
			if o, err := d.typed(rest); err == nil {
				return watch.EventType(kind), o, nil
			}
		}
	}
	return d.anyEvent(text)
}

// plainEvent reports whether an event of this type has an object of the cache.
func plainEvent(kind []byte) bool {
	switch watch.EventType(kind) {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		return true
	}
	return false
}

// anyEvent decodes a watch event of any type and form.
func (d *decoder) anyEvent(text []byte) (watch.EventType, runtime.Object, error) {
	var event struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := utiljson.Unmarshal(text, &event); err != nil {
		return "", nil, fmt.Errorf("decode a watch event: %w", err)
	}
	if !plainEvent([]byte(event.Type)) && event.Type != watch.Error {
		return "", nil, fmt.Errorf("decode a watch event: its type is %q", event.Type)
	}
	if status, err := statusOf(event.Object); event.Type == watch.Error && (status != nil || err != nil) {
		return event.Type, status, err
	}
	o, err := d.typed(event.Object)
	if err != nil {
		return "", nil, fmt.Errorf("decode a watch event: %w", err)
	}
	return event.Type, o, nil
}

// statusOf decodes the object of an error; nil if it is no Status.
func statusOf(text []byte) (*metav1.Status, error) {
	var typed metav1.TypeMeta
	if err := utiljson.Unmarshal(text, &typed); err != nil || typed.GroupVersionKind() != statusKind {
		return nil, nil
	}
	status := &metav1.Status{}
	if err := utiljson.Unmarshal(text, status); err != nil {
		return nil, fmt.Errorf("decode the error of a watch: %w", err)
	}
	return status, nil
}

// statusKind is the kind of the objects with which an API server reports errors.
var statusKind = object.Kind{Version: "v1", Kind: "Status"}

// typed decodes an object that must have an API version and a kind.
func (d *decoder) typed(text []byte) (*cached, error) {
	o, err := d.object(text)
	switch {
	case err != nil:
		return nil, err
	case o.GetKind() == "":
		return nil, errors.New("the object has no kind")
	case o.GetAPIVersion() == "":
		return nil, errors.New("the object has no apiVersion")
	}
	return o, nil
}

// eventReader decodes the body of a watch. It implements watch.Decoder.
type eventReader struct {
	body    io.Closer
	values  *packed.Stream
	decoder *decoder
}

// Decode implements watch.Decoder.
func (e *eventReader) Decode() (watch.EventType, runtime.Object, error) {
	text, err := e.values.Next()
	if err != nil {
		return "", nil, err
	}
	return e.decoder.event(text)
}

// Close implements watch.Decoder.
func (e *eventReader) Close() { _ = e.body.Close() }

// A list is a list of the objects of a cache.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*cached
}

// DeepCopyObject implements runtime.Object. The objects cannot be changed, so that they are shared.
func (l *list) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = append([]*cached(nil), l.Items...)
	return &copied
}

// list decodes the body of a list request, one object after the other, so that the whole text is never in memory. What is no list, such
// as an answer of a proxy, must be an error: as a list without items, it would be taken for the deletion of all objects.
func (d *decoder) list(body io.Reader) (*list, error) {
	found, text := &list{}, packed.NewStream(body)
	err := text.Object(func(key string, value *packed.Stream) error {
		if key == "items" {
			found.Items = nil // the last one counts
			if d.parser.Missing == nil && found.Kind != "" && found.APIVersion != "" {
				d.parser.Missing = found.typeOfItems()
			}
			return value.Array(func(item []byte) error {
				o, err := d.object(item)
				if err == nil {
					found.Items = append(found.Items, o)
				}
				return err
			})
		}
		text, err := value.Next()
		if err != nil {
			return err
		}
		switch key {
		case "apiVersion":
			return utiljson.Unmarshal(text, &found.APIVersion)
		case "kind":
			return utiljson.Unmarshal(text, &found.Kind)
		case "metadata":
			return utiljson.Unmarshal(text, &found.ListMeta)
		}
		var ignored json.RawMessage
		return utiljson.Unmarshal(text, &ignored) // which must be valid
	})
	if err == nil {
		err = text.End()
	}
	if err == nil && (found.Kind == "" || found.Kind == statusKind.Kind) {
		err = fmt.Errorf("its kind is %q", found.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("decode a list: %w", err)
	}
	return found, found.complete()
}

// typeOfItems returns the API version and the kind of objects that have none: in lists of the kinds of Kubernetes they are only in the list.
func (l *list) typeOfItems() map[string]string {
	return map[string]string{"apiVersion": l.APIVersion, "kind": strings.TrimSuffix(l.Kind, "List")}
}

// complete adds the API version and the kind to objects that have none, if they came before those of the list.
func (l *list) complete() error {
	for i, o := range l.Items {
		if o.GetKind() != "" || o.GetAPIVersion() != "" {
			continue
		}
		with, err := o.Packed().With(l.typeOfItems())
		if err != nil {
			return err
		}
		l.Items[i] = &cached{object.MakePacked(with), o.fields}
	}
	return nil
}
