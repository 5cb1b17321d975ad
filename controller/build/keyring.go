package build

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/object"
)

// A keyring holds the Secrets and ConfigMaps that the webhooks of one controller refer to, and no others, as they are
// now. Until it is opened it only knows which they are.
type Credentials map[reference]*informer.Informer

const (
	KindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// A reference names a Secret or a ConfigMap.
type reference struct{ kind, namespace, name string }

func (r reference) String() string { return r.kind + " " + r.namespace + "/" + r.name }

func (r reference) spec() informer.Spec {
	resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(r.kind) + "s"}
	return informer.Spec{Resource: resource, Namespace: r.namespace, Name: r.name}
}

// open begins to watch.
func (k Credentials) open(caches *informer.Factory) {
	for r := range k {
		k[r] = caches.Open(r.spec())
	}
}

// listen calls changed whenever what one of the objects holds is another than before.
func (k Credentials) Listen(changed func()) error {
	for r, cache := range k {
		err := cache.Handle(func(old, current *object.Object) {
			if !reflect.DeepEqual(contents(old), contents(current)) {
				changed()
			}
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", r, err)
		}
	}
	return nil
}

// secrets are the Secrets among the objects, as far as they are there.
func (k Credentials) Secrets() []*object.Object {
	var found []*object.Object
	for r, cache := range k {
		if r.kind == KindSecret && cache != nil {
			found = append(found, cache.Get(object.Key{Namespace: r.namespace, Name: r.name}))
		}
	}
	return found
}

func contents(o *object.Object) any {
	if o == nil {
		return nil
	}
	return o.Object["data"]
}

// settled waits until each object is there, or known not to be, or cannot be read.
func (k Credentials) Settled(ctx context.Context) {
	for _, cache := range k {
		cache.Settled(ctx)
	}
}

func (k Credentials) close() {
	for _, cache := range k {
		if cache != nil {
			cache.Close()
		}
	}
}

// A keyAt names one value in a Secret or a ConfigMap.
type keySelector struct {
	reference
	key string
}

func (a keySelector) String() string { return fmt.Sprintf("key %s of %s", a.key, a.reference) }

// value reads what is there now. An error says what is missing, and never what is there.
func (k Credentials) value(at keySelector) (string, error) {
	o, err := k.get(at.reference)
	if err != nil {
		return "", err
	}
	text, found, err := unstructured.NestedString(o.Object, "data", at.key)
	if err != nil || !found {
		return "", fmt.Errorf("%s has no key %s", at.reference, at.key)
	}
	if at.kind == KindSecret {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", fmt.Errorf("%s is not in base64", at)
		}
		text = string(decoded)
	}
	if text == "" {
		return "", fmt.Errorf("%s is empty", at)
	}
	return text, nil
}

func (k Credentials) get(r reference) (*object.Object, error) {
	cache := k[r]
	if cache == nil {
		return nil, fmt.Errorf("%s cannot be read without a cluster", r)
	}
	if o := cache.Get(object.Key{Namespace: r.namespace, Name: r.name}); o != nil {
		return o, nil
	}
	if err := cache.Trouble(); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", r, err)
	}
	if !cache.Filled() {
		return nil, fmt.Errorf("%s is not read yet", r)
	}
	return nil, fmt.Errorf("%s does not exist", r)
}

// material reads what a connection is made with.
func (k Credentials) material(at keySelector) (hook.Material, error) {
	text, err := k.value(at)
	return hook.Material{PEM: text, Where: at.String()}, err
}

// line reads a value that goes into a header, without the blanks around it.
func (k Credentials) line(at keySelector) (string, error) {
	text, err := k.value(at)
	text = strings.TrimSpace(text)
	if err == nil && strings.ContainsAny(text, "\r\n") {
		err = fmt.Errorf("%s has more than one line", at)
	}
	return text, err
}
