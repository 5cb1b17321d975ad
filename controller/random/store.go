package random

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/references"
)

// SecretName is the name of the Secret with the key of a server.
const SecretName = "metascript-random-key"

// keyField is the key in the data of the Secret.
const keyField = "key"

// A Store is the Source of a server: the Secret in its namespace. It is watched from the first call of Key on; before, nothing is
// requested. It is safe for concurrent use.
//
// The Secret is created if it does not exist, and never updated. A Secret that cannot be read, or has no valid key, is an error: another key
// would give other values.
type Store struct {
	Namespace string
	Watcher   *references.Watcher
	Writer    plan.Writer
	GetLive   func(ctx context.Context, o *object.Object) (*object.Object, error) // gets an object from the API server
	Leads     func() bool                                                         // reports whether the Secret may be created
	DryRun    bool                                                                // nothing is created: while there is no Secret, this Store has a key of its own
	Changed   func()                                                              // called when Key would return something else than before; must not block
	Log       *slog.Logger

	mu       sync.Mutex // guards the fields below; the locks of package references may be taken while it is locked
	watching bool
	created  Key  // by this Store; the zero Key before
	last     Key  // that Key returned; the zero Key before
	failed   bool // whether Key failed when it was last called
}

// Key implements [Source].
func (s *Store) Key(ctx context.Context) (Key, error) {
	ctx = redact.NewContext(ctx, redact.New()) // a reconcile must not learn the values of this Secret, also not to remove them
	key, err := s.key(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = err != nil; s.failed {
		return Key{}, fmt.Errorf("%s: %w", s.reference(), err)
	}
	s.last = key
	return key, nil
}

func (s *Store) reference() references.Object {
	return references.Object{Kind: references.Secret, Namespace: s.Namespace, Name: SecretName}
}

func (s *Store) key(ctx context.Context) (Key, error) {
	if err := s.watch(); err != nil {
		return Key{}, err
	}
	s.Watcher.WaitForSyncOrError(ctx, s)
	o, err := s.Watcher.Private(s.reference())
	switch {
	case errors.Is(err, references.ErrMissing):
		return s.create(ctx)
	case err != nil:
		return Key{}, err
	}
	return keyOf(o)
}

// watch begins to watch the Secret.
func (s *Store) watch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching {
		return nil
	}
	err := s.Watcher.Watch(s, s.changed, s.reference())
	s.watching = err == nil
	return err
}

// changed calls Changed if the Secret has another key than the one that was returned last, or if none could be returned.
func (s *Store) changed() {
	var now Key
	if o, err := s.Watcher.Private(s.reference()); err == nil {
		now, _ = keyOf(o)
	}
	s.mu.Lock()
	differs := s.failed || s.last != (Key{}) && now != s.last
	s.mu.Unlock()
	if differs && s.Changed != nil {
		s.Changed()
	}
}

// create creates the Secret, or reads the one that was created meanwhile.
func (s *Store) create(ctx context.Context) (Key, error) {
	if !s.Leads() {
		return Key{}, errors.New("does not exist yet: the server that leads creates it")
	}
	key := s.newKey()
	if s.DryRun {
		return key, nil
	}
	_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Create, Object: s.secret(key), Why: "scripts draw random values"})
	switch {
	case apierrors.IsAlreadyExists(err):
		found, err := s.GetLive(ctx, s.secret(Key{}))
		if err != nil {
			return Key{}, err
		}
		return keyOf(found)
	case err != nil:
		return Key{}, err
	}
	s.Log.Info("created the key of random values", "secret", s.reference().String())
	return key, nil
}

// newKey returns the key to create. It is the same in each try until it was used, so that one whose result is not known does not change it.
func (s *Store) newKey() Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.created == (Key{}) || s.created == s.last && !s.DryRun {
		made := make([]byte, size)
		_, _ = rand.Read(made) // never fails
		s.created = Key{string(made)}
	}
	return s.created
}

// secret returns the Secret with a key.
func (s *Store) secret(key Key) *object.Object {
	return object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": object.PrivateSecret, "immutable": true,
		"metadata": map[string]any{"namespace": s.Namespace, "name": SecretName},
		"data":     map[string]any{keyField: base64.StdEncoding.EncodeToString([]byte(key.secret))},
	})
}

// keyOf returns the key in a Secret.
func keyOf(o *object.Object) (Key, error) {
	const advice = "restore it from a backup, or delete the Secret: then there are other values, except for those that stand in observed Secrets"
	if kind := o.TextAt("type"); kind != object.PrivateSecret {
		return Key{}, fmt.Errorf("its type is %q, want %q: %s", kind, object.PrivateSecret, advice)
	}
	made, err := base64.StdEncoding.DecodeString(o.TextAt("data", keyField))
	if err != nil || len(made) < size {
		return Key{}, fmt.Errorf("data.%s has %d bytes, want at least %d: %s", keyField, len(made), size, advice)
	}
	return Key{string(made)}, nil
}
