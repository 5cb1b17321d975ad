package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"metascript/controller/object"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// objects sends requests for the objects of one resource, in one namespace. The objects in the answers to writes are packed, because
// nothing of them is changed and most of it is not read.
type objects struct {
	client rest.Interface
	path   []string
}

// options are the options of a write.
type options struct {
	manager string // the field manager; "" for none
	dryRun  bool
	force   bool // of server-side apply
}

// create creates an object.
func (o objects) create(ctx context.Context, created *object.Object, with options) (*object.Object, error) {
	return o.write(ctx, o.client.Post().AbsPath(o.path...), created, runtime.ContentTypeJSON, with)
}

// update replaces an object, or one of its subresources.
func (o objects) update(ctx context.Context, changed *object.Object, with options, subresource ...string) (*object.Object, error) {
	request, err := o.named(o.client.Put(), changed.GetName())
	if err != nil {
		return nil, err
	}
	return o.write(ctx, request.SubResource(subresource...), changed, runtime.ContentTypeJSON, with)
}

// apply applies a configuration by server-side apply.
func (o objects) apply(ctx context.Context, config *object.Object, with options) (*object.Object, error) {
	request, err := o.named(o.client.Patch(types.ApplyPatchType), config.GetName())
	if err != nil {
		return nil, err
	}
	return o.write(ctx, request, config, string(types.ApplyPatchType), with)
}

// delete deletes an object. It does not read the answer.
func (o objects) delete(ctx context.Context, name string, with metav1.DeleteOptions) error {
	request, err := o.named(o.client.Delete(), name)
	if err != nil {
		return err
	}
	body, err := json.Marshal(with)
	if err != nil {
		return err
	}
	return request.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
}

// get reads an object. It is not packed, because most often it is read in order to be changed. Unlike a write, it is sent again by
// client-go after the connection was closed.
func (o objects) get(ctx context.Context, name string) (*object.Object, error) {
	request, err := o.named(o.client.Get(), name)
	if err != nil {
		return nil, err
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Raw returns an error without the message of the API server
		return nil, err
	}
	text, err := result.Raw()
	if err != nil {
		return nil, err
	}
	found, err := parsed(text, packed.Parse)
	if err != nil {
		return nil, err
	}
	return object.New(found.Map()), nil
}

// named adds the name of an object to the path of a request.
func (o objects) named(request *rest.Request, name string) (*rest.Request, error) {
	if name == "" {
		return nil, errors.New("the object has no name")
	}
	if err := segment("name", name); err != nil {
		return nil, err
	}
	return request.AbsPath(append(slices.Clip(o.path), name)...), nil
}

// segment returns an error if a text cannot be one segment of a path: with .. or / in it the request would be for something else.
func segment(what, text string) error {
	if problems := content.IsPathSegmentName(text); len(problems) > 0 {
		return fmt.Errorf("the %s %q is not valid: %s", what, text, problems[0])
	}
	return nil
}

// usualBody is the size, in bytes, that few bodies exceed.
const usualBody = 2 << 10

// write sends the write of an object.
func (o objects) write(ctx context.Context, request *rest.Request, written *object.Object, contentType string, with options) (*object.Object, error) {
	body, err := tree.AppendJSON(make([]byte, 0, usualBody), written.Value())
	if err != nil {
		return nil, err
	}
	if with.manager != "" {
		request.Param("fieldManager", with.manager)
	}
	if with.dryRun {
		request.Param("dryRun", metav1.DryRunAll)
	}
	if with.force {
		request.Param("force", "true")
	}
	answer, err := request.SetHeader("Content-Type", contentType).Body(body).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	text := texts.Get().(*bytes.Buffer)
	defer release(text)
	if _, err := text.ReadFrom(answer); err != nil {
		return nil, fmt.Errorf("read the answer of the API server: %w", err)
	}
	return parsed(text.Bytes(), parseWithoutManagedFields)
}

// parsed returns the object in an answer.
func parsed(text []byte, parse func([]byte) (packed.Map, error)) (*object.Object, error) {
	found, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the answer of the API server is not an object: %w", err)
	}
	o := object.OfPacked(found)
	if kind := o.GetKind(); kind == "" || kind == "Status" { // of something between the server and the API server
		return nil, fmt.Errorf("the answer of the API server is not an object: its kind is %q", kind)
	}
	return o, nil
}

// texts has the memory for the texts of answers. What is parsed of them is a copy.
var texts = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// release keeps the memory of a text for another one, unless it is unusually large.
func release(text *bytes.Buffer) {
	if text.Cap() <= 1<<18 {
		text.Reset()
		texts.Put(text)
	}
}

// withoutManagedFields are the parsers of the answers to writes. Nobody reads the managedFields in them, which are the larger part of
// many objects.
var withoutManagedFields = sync.Pool{New: func() any {
	return &packed.Parser{Drop: func(outer, key string) bool { return outer == "metadata" && key == "managedFields" }}
}}

func parseWithoutManagedFields(text []byte) (packed.Map, error) {
	parser := withoutManagedFields.Get().(*packed.Parser)
	defer withoutManagedFields.Put(parser)
	return parser.Parse(text)
}
