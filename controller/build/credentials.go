package build

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/references"
)

// Credentials are the Secrets and ConfigMaps that the webhooks of one controller refer to. They can be read after watch was
// called. A nil *Credentials refers to nothing.
type Credentials struct {
	objects map[references.Object]bool
	watcher *references.Watcher // nil if they are not watched
	permit  func(references.Object) error

	mu      sync.Mutex // guards changed, and is locked during each call of Watch
	changed func()
}

func newCredentials() *Credentials { return &Credentials{objects: map[references.Object]bool{}} }

// watch starts to watch the objects.
func (c *Credentials) watch(watcher *references.Watcher) error {
	c.watcher = watcher
	return c.OnChange(nil)
}

// OnChange sets the function that is called when the content of one of the objects changes. It replaces the one before.
func (c *Credentials) OnChange(changed func()) error {
	if c == nil || c.watcher == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
	return c.watchPermitted()
}

// watchPermitted watches those of the objects that the controller may read: the changes of others must not be noticed. The caller has
// locked mu.
func (c *Credentials) watchPermitted() error {
	var permitted []references.Object
	for o := range c.objects {
		if c.permit(o) == nil {
			permitted = append(permitted, o)
		}
	}
	return c.watcher.Watch(c, c.changed, permitted...)
}

// Objects returns the objects, in no order. It needs no watch.
func (c *Credentials) Objects() []references.Object {
	if c == nil {
		return nil
	}
	return slices.Collect(maps.Keys(c.objects))
}

// Secrets returns the Secrets among the objects. Those that do not exist or cannot be read are left out.
func (c *Credentials) Secrets() []*object.Object {
	if c == nil || c.watcher == nil {
		return nil
	}
	var found []*object.Object
	for o := range c.objects {
		if o.Kind != references.Secret || c.permit(o) != nil {
			continue // what the controller may not read must not be redacted either: that would tell whether a text is a part of it
		}
		if secret, err := c.watcher.Get(o); err == nil {
			found = append(found, secret)
		}
	}
	return found
}

// WaitForSyncOrError waits until it is known of each object whether it exists or cannot be read, or until ctx is done.
func (c *Credentials) WaitForSyncOrError(ctx context.Context) {
	if c != nil && c.watcher != nil {
		c.watcher.WaitForSyncOrError(ctx, c)
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

// value returns the current value. An error names the Secret and the key, but never shows content.
func (c *Credentials) value(selector keySelector) (string, error) {
	o, err := c.get(selector.Object)
	if err != nil {
		return "", err
	}
	found, _ := o.At("data", selector.key)
	text, ok := found.(string)
	if !ok {
		return "", fmt.Errorf("%s has no key %s", selector.Object, selector.key)
	}
	if selector.Kind == references.Secret {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", fmt.Errorf("%s is not in base64", selector)
		}
		text = string(decoded)
	}
	if text == "" {
		return "", fmt.Errorf("%s is empty", selector)
	}
	return text, nil
}

func (c *Credentials) get(o references.Object) (*object.Object, error) {
	if c.watcher == nil {
		return nil, fmt.Errorf("%s cannot be read without a cluster", o)
	}
	if err := c.permit(o); err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", o, err)
	}
	found, err := c.watcher.Get(o)
	if errors.Is(err, references.ErrNotWatched) { // it was not permitted when the controller started
		c.mu.Lock()
		err = c.watchPermitted()
		c.mu.Unlock()
		if err == nil {
			found, err = c.watcher.Get(o)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", o, err)
	}
	return found, nil
}

// material returns a certificate or a key.
func (c *Credentials) material(selector keySelector) (hook.Material, error) {
	text, err := c.value(selector)
	return hook.Material{PEM: text, Where: selector.String()}, err
}

// headerValue returns a value for a header, without leading and trailing space. It must be one line.
func (c *Credentials) headerValue(selector keySelector) (string, error) {
	text, err := c.value(selector)
	text = strings.TrimSpace(text)
	if err == nil && strings.ContainsAny(text, "\r\n") {
		err = fmt.Errorf("%s has more than one line", selector)
	}
	return text, err
}
