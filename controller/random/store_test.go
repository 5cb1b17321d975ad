package random

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/references"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// A cluster is an API server with Secrets. It implements plan.Writer.
type cluster struct {
	*fake.FakeDynamicClient
	watcher *references.Watcher
	writes  int
	before  func() // is called before a write
}

func newCluster(t *testing.T) *cluster {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{secrets: "SecretList"})
	c := &cluster{FakeDynamicClient: client, watcher: references.NewWatcher(informer.NewFactory(client, slog.New(slog.DiscardHandler))), before: func() {}}
	t.Cleanup(c.watcher.Close)
	return c
}

// store returns a Store that leads, and whose calls of Changed are in the channel.
func (c *cluster) store() (*Store, chan struct{}) {
	changed := make(chan struct{}, 10)
	return &Store{
		Namespace: "home", Watcher: c.watcher, Writer: c, GetLive: c.get, Leads: func() bool { return true },
		Changed: func() { changed <- struct{}{} }, Log: slog.New(slog.DiscardHandler),
	}, changed
}

func (c *cluster) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	c.writes++
	c.before()
	_, err := c.Resource(secrets).Namespace("home").Create(ctx, op.Object.Unstructured(), metav1.CreateOptions{})
	return op.Object, err
}

func (c *cluster) get(ctx context.Context, o *object.Object) (*object.Object, error) {
	found, err := c.Resource(secrets).Namespace("home").Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.New(found.Object), nil
}

// put stores a Secret with a key.
func (c *cluster) put(t *testing.T, kind, key string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": map[string]any{"namespace": "home", "name": SecretName},
		"data": map[string]any{"key": base64.StdEncoding.EncodeToString([]byte(key))},
	}}
	if _, err := c.Resource(secrets).Namespace("home").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) remove(t *testing.T) {
	t.Helper()
	if err := c.Resource(secrets).Namespace("home").Delete(t.Context(), SecretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func mustKey(t *testing.T, s *Store) Key {
	t.Helper()
	key, err := s.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var other = strings.Repeat("o", size)

func TestStoreCreatesKeyOnce(t *testing.T) {
	c := newCluster(t)
	s, _ := c.store()
	if len(c.Actions()) > 0 {
		t.Errorf("requests before the first call: %v", c.Actions())
	}
	key := mustKey(t, s)
	another, _ := c.store() // of the next server
	if again, after := mustKey(t, s), mustKey(t, another); key == (Key{}) || again != key || after != key {
		t.Error("the key is another one in a later call, or after a restart")
	}
	o, err := c.get(t.Context(), s.secret(Key{}))
	if immutable, _ := o.At("immutable"); err != nil || !object.IsPrivate(o) || immutable != true {
		t.Errorf("stored: %v, %v", o.Map(), err)
	}
}

func TestStoreReadsKeyThatWasCreatedMeanwhile(t *testing.T) {
	c := newCluster(t)
	s, _ := c.store()
	c.before = func() { c.before = func() {}; c.put(t, object.PrivateSecret, other) }
	if key := mustKey(t, s); key != (Key{other}) {
		t.Error("it has a key of its own")
	}
}

func TestOnlyLeaderCreatesKey(t *testing.T) {
	c := newCluster(t)
	s, _ := c.store()
	s.Leads = func() bool { return false }
	if _, err := s.Key(t.Context()); err == nil || err.Error() != "Secret home/metascript-random-key: does not exist yet: the server that leads creates it" || c.writes > 0 {
		t.Errorf("%v, %d writes", err, c.writes)
	}
}

func TestDryRunHasKeyOfItsOwn(t *testing.T) {
	c := newCluster(t)
	s, _ := c.store()
	s.DryRun = true
	if first, again := mustKey(t, s), mustKey(t, s); first == (Key{}) || first != again || c.writes > 0 {
		t.Errorf("%d writes, or another key in the next call", c.writes)
	}
}

func TestInvalidSecretIsErrorAndNotReplaced(t *testing.T) {
	for name, c := range map[string]struct{ kind, key, want string }{
		"type":  {"Opaque", other, `Secret home/metascript-random-key: its type is "Opaque", want "metacontroller.k8s.io/random-key": restore it`},
		"short": {object.PrivateSecret, "short", "data.key has 5 bytes, want at least 32"},
		"empty": {object.PrivateSecret, "", "data.key has 0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newCluster(t)
			server.put(t, c.kind, c.key)
			s, _ := server.store()
			if _, err := s.Key(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || c.key != "" && strings.Contains(err.Error(), c.key) || server.writes > 0 {
				t.Errorf("got %v and %d writes, want %s", err, server.writes, c.want)
			}
		})
	}
}

func TestForbiddenSecretIsErrorAndNotReplaced(t *testing.T) {
	c := newCluster(t)
	c.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(secrets.GroupResource(), SecretName, errors.New("no role"))
	})
	s, _ := c.store()
	if _, err := s.Key(t.Context()); err == nil || !strings.Contains(err.Error(), "Secret home/metascript-random-key: cannot be read:") || c.writes > 0 {
		t.Errorf("%v, %d writes", err, c.writes)
	}
}

func TestOtherKeyIsNoticed(t *testing.T) {
	c := newCluster(t)
	s, changed := c.store()
	first := mustKey(t, s)
	c.remove(t)
	<-changed
	second := mustKey(t, s)
	if second == first {
		t.Error("a Secret that was deleted got the same key")
	}
	c.remove(t)
	<-changed
	c.put(t, object.PrivateSecret, other)
	for mustKey(t, s) != (Key{other}) { // until the cache has it
		<-changed
	}
}

func TestWatcherGivesKeyToNobodyElse(t *testing.T) {
	c := newCluster(t)
	s, _ := c.store()
	mustKey(t, s)
	webhook := "of a controller"
	if err := c.watcher.Watch(webhook, nil, s.reference()); err != nil {
		t.Fatal(err)
	}
	c.watcher.WaitForSyncOrError(t.Context(), webhook)
	_, err := c.watcher.Get(s.reference())
	for errors.Is(err, references.ErrMissing) {
		_, err = c.watcher.Get(s.reference())
	}
	if err == nil || !strings.Contains(err.Error(), "only the server itself may read it") {
		t.Error(err)
	}
}

// Calls that failed are made again when the Secret has changed, and not only after their back-off.
func TestChangeOfInvalidSecretIsNoticed(t *testing.T) {
	c := newCluster(t)
	c.put(t, object.PrivateSecret, "short")
	s, changed := c.store()
	if _, err := s.Key(t.Context()); err == nil {
		t.Fatal("an invalid key is accepted")
	}
	c.remove(t)
	<-changed
	for { // until the cache does not have it any more
		if _, err := s.Key(t.Context()); err == nil {
			return
		}
		<-changed
	}
}
