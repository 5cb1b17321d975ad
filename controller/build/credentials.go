package build

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/references"
)

// KindSecret is the kind of Secrets.
const KindSecret = references.Secret

// Credentials are the Secrets and ConfigMaps that the webhooks of one controller refer to. Until they are watched it is
// only known which they are. A nil one refers to nothing.
type Credentials struct {
	objects map[references.Object]bool
	watcher *references.Watcher // nil: they are not watched
}

func newCredentials() *Credentials { return &Credentials{objects: map[references.Object]bool{}} }

// watch begins to watch them.
func (c *Credentials) watch(watcher *references.Watcher) error {
	c.watcher = watcher
	return c.Listen(nil)
}

// Listen has changed called whenever the content of one of them changes.
func (c *Credentials) Listen(changed func()) error {
	if c == nil || c.watcher == nil {
		return nil
	}
	return c.watcher.Watch(c, changed, slices.Collect(maps.Keys(c.objects))...)
}

// Secrets are the Secrets among them, as far as they are there.
func (c *Credentials) Secrets() []*object.Object {
	if c == nil || c.watcher == nil {
		return nil
	}
	var found []*object.Object
	for o := range c.objects {
		if o.Kind != references.Secret {
			continue
		}
		if secret, err := c.watcher.Get(o); err == nil {
			found = append(found, secret)
		}
	}
	return found
}

// Settled waits until each of them is read, or known not to exist, or cannot be read, or until ctx is done.
func (c *Credentials) Settled(ctx context.Context) {
	if c != nil && c.watcher != nil {
		c.watcher.Settled(ctx, c)
	}
}

// close ends the watches.
func (c *Credentials) close() {
	if c != nil && c.watcher != nil {
		c.watcher.Leave(c)
	}
}

// A keySelector names one value in a Secret or a ConfigMap.
type keySelector struct {
	references.Object
	key string
}

func (s keySelector) String() string { return fmt.Sprintf("key %s of %s", s.key, s.Object) }

// value reads the value as it is now. An error says what is missing, and never what is there.
func (c *Credentials) value(at keySelector) (string, error) {
	o, err := c.get(at.Object)
	if err != nil {
		return "", err
	}
	text, found, err := unstructured.NestedString(o.Object, "data", at.key)
	if err != nil || !found {
		return "", fmt.Errorf("%s has no key %s", at.Object, at.key)
	}
	if at.Kind == references.Secret {
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

func (c *Credentials) get(o references.Object) (*object.Object, error) {
	if c.watcher == nil {
		return nil, fmt.Errorf("%s cannot be read without a cluster", o)
	}
	found, err := c.watcher.Get(o)
	if err != nil {
		return nil, fmt.Errorf("%s %w", o, err)
	}
	return found, nil
}

// material reads what a connection is made with.
func (c *Credentials) material(at keySelector) (hook.Material, error) {
	text, err := c.value(at)
	return hook.Material{PEM: text, Where: at.String()}, err
}

// line reads a value that goes into a header, without the space around it.
func (c *Credentials) line(at keySelector) (string, error) {
	text, err := c.value(at)
	text = strings.TrimSpace(text)
	if err == nil && strings.ContainsAny(text, "\r\n") {
		err = fmt.Errorf("%s has more than one line", at)
	}
	return text, err
}
