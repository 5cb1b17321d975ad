package informer

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/ownership"
	"metascript/controller/wire"
	"metascript/engine/packed"
)

// source returns the lists and watches for a cache. Their objects are of the type cached.
func (f *Factory) source(spec Spec) cache.ListerWatcher {
	if f.REST == nil {
		return &converting{f.client, spec, f.Ownership}
	}
	return &reading{f.REST, spec, f.Ownership}
}

// parameters encodes the options of requests.
var parameters = func() runtime.ParameterCodec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return runtime.NewParameterCodec(scheme)
}()

// A reading source decodes the bodies of responses itself, and straight into packed objects.
type reading struct {
	client    rest.Interface
	spec      Spec
	ownership func(managedFields []byte) ownership.Fields // see Factory.Ownership
}

// IsWatchListSemanticsUnSupported makes client-go use list requests if it returns true.
func (s *reading) IsWatchListSemanticsUnSupported() bool { return s.spec.Listed }

// request returns a request for the objects of the cache, in a list or in the events of a watch.
func (s *reading) request(options metav1.ListOptions) *rest.Request {
	s.spec.limitRequest(&options)
	request := s.client.Get()
	if s.spec.MetadataOnly {
		form := "PartialObjectMetadataList"
		if options.Watch {
			form = "PartialObjectMetadata"
		}
		request.SetHeader("Accept", "application/json;as="+form+";g=meta.k8s.io;v=v1,application/json") // some servers have only whole objects
	}
	return request.AbsPath(wire.Path(s.spec.Resource, s.spec.Namespace)...).
		SpecificallyVersionedParams(&options, parameters, schema.GroupVersion{Version: "v1"})
}

// List implements cache.ListerWatcher.
func (s *reading) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher.
func (s *reading) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (s *reading) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	body, err := s.request(options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return newDecoder(s.spec, s.ownership).list(body)
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (s *reading) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	body, err := s.request(options).Stream(ctx)
	switch {
	case utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err):
		return watch.NewEmptyWatch(), nil // as client-go does: the watch is begun again
	case err != nil:
		return nil, err
	}
	decoder := &eventReader{body, packed.NewStream(body), newDecoder(s.spec, s.ownership)}
	return watch.NewStreamWatcher(decoder, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")), nil
}

// A converting source packs the objects of another client, such as one that has no API server.
type converting struct {
	client    dynamic.Interface
	spec      Spec
	ownership func(managedFields []byte) ownership.Fields // see Factory.Ownership
}

// IsWatchListSemanticsUnSupported makes client-go use list requests if it returns true.
func (s *converting) IsWatchListSemanticsUnSupported() bool {
	client, ok := s.client.(interface{ IsWatchListSemanticsUnSupported() bool })
	return s.spec.Listed || ok && client.IsWatchListSemanticsUnSupported()
}

// resource returns the client for the objects of the cache.
func (s *converting) resource() dynamic.ResourceInterface {
	return s.client.Resource(s.spec.Resource).Namespace(s.spec.Namespace)
}

// List implements cache.ListerWatcher.
func (s *converting) List(options metav1.ListOptions) (runtime.Object, error) {
	s.spec.limitRequest(&options)
	listed, err := s.resource().List(context.Background(), options)
	if err != nil {
		return nil, err
	}
	found := &list{TypeMeta: metav1.TypeMeta{Kind: listed.GetKind(), APIVersion: listed.GetAPIVersion()}}
	found.ResourceVersion, found.Continue = listed.GetResourceVersion(), listed.GetContinue()
	d := newDecoder(s.spec, s.ownership)
	for i := range listed.Items {
		o, err := convert(d, &listed.Items[i])
		if err != nil {
			return nil, err
		}
		found.Items = append(found.Items, o.(*cached))
	}
	return found, nil
}

// convert returns an object as packed; other objects, such as a metav1.Status, are returned as they are.
func convert(d *decoder, o runtime.Object) (runtime.Object, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	return d.object(text)
}

// Watch implements cache.ListerWatcher.
func (s *converting) Watch(options metav1.ListOptions) (watch.Interface, error) {
	s.spec.limitRequest(&options)
	options.Watch = true
	w, err := s.resource().Watch(context.Background(), options)
	if err != nil {
		return nil, err
	}
	decoder := &conversion{w, newDecoder(s.spec, s.ownership)}
	return watch.NewStreamWatcher(decoder, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")), nil
}

// A conversion packs the objects of another watch. It implements watch.Decoder.
type conversion struct {
	from    watch.Interface
	decoder *decoder
}

// Decode implements watch.Decoder.
func (c *conversion) Decode() (watch.EventType, runtime.Object, error) {
	event, ok := <-c.from.ResultChan()
	if !ok {
		return "", nil, io.EOF
	}
	o, err := convert(c.decoder, event.Object)
	return event.Type, o, err
}

// Close implements watch.Decoder.
func (c *conversion) Close() { c.from.Stop() }
