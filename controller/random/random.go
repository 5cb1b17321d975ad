// Package random has the key from which the random values of scripts are derived.
//
// A server has one [Key]. Only the server has it: for each call of a hook, [Key.For] derives another key, which belongs to a controller, its
// account and a parent, and from which the library derives values by their names (package scripts/lib). So a script can compute only its
// own values, in a worker process too.
//
// The key is in a Secret in the namespace of the server. A [Store] reads it when a script first draws a value, and creates it if there is
// none. The Secret has a type of its own, object.PrivateSecret: objects of this type are in no cache of which a hook gets objects, and no
// webhook, answer or owner reference can name one.
package random

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"

	"metascript/controller/account"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// A Source has the key of a server.
type Source interface {
	// Key returns the key, or why it cannot be read.
	Key(ctx context.Context) (Key, error)
}

// size is the length of a key that is created, and the minimum length of one that is read, in bytes.
const size = sha256.Size

// A Key is the key of a server. It is never shown.
type Key struct{ secret string }

// String implements fmt.Stringer.
func (Key) String() string { return "[key]" }

// GoString implements fmt.GoStringer.
func (Key) GoString() string { return "[key]" }

// MarshalText implements encoding.TextMarshaler.
func (Key) MarshalText() ([]byte, error) { return []byte("[key]"), nil }

// A Subject is whose values a key is for.
type Subject struct {
	Controller spec.ID
	Account    account.Account // that the controller acts as
}

// For returns the key of a parent. It is derived as by the expand step of HKDF (RFC 5869). A parent that is deleted and created again has
// another UID, and other values.
func (k Key) For(of Subject, parent *object.Object) ([]byte, error) {
	info, err := json.Marshal([]string{
		"metascript random values", of.Controller.Kind, of.Controller.Name, of.Account.Namespace, of.Account.Name,
		parent.GroupVersionKind().Group, parent.GetKind(), parent.GetNamespace(), parent.GetName(), string(parent.GetUID()),
	})
	if err != nil {
		return nil, err
	}
	return hkdf.Expand(sha256.New, []byte(k.secret), string(info), size)
}

// Offline is the Source of commands without a cluster: a key that everybody knows, so that their results do not change.
var Offline Source = known{}

type known struct{}

// Key implements [Source].
func (known) Key(context.Context) (Key, error) {
	sum := sha256.Sum256([]byte("the key of commands without a cluster, which everybody knows"))
	return Key{string(sum[:])}, nil
}
