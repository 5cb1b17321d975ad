package hook

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/engine"
)

// Draws are the random values of one call, by their labels; see [engine.Draw].
type Draws struct {
	Known map[string]string // are returned in place of derived ones

	mu  sync.Mutex // guards got
	got map[string]string
}

// All returns the values that the script got.
func (d *Draws) All() map[string]string {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.got)
}

// add adds a value that the script got.
func (d *Draws) add(one engine.Draw) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.got == nil {
		d.got = map[string]string{}
	}
	d.got[one.Label] = one.Value
}

// random returns what gives a call random values. The redactor removes those that are secret, and back learns those that the script
// passed back.
func (s *Script) random(req *Request, redactor *redact.Redactor, back *passedBack) *engine.Random {
	r := &engine.Random{Drawn: func(d engine.Draw) error {
		if d.Observed {
			back.note(d.Value)
			return nil
		}
		if d.Secret {
			redactor.AddTexts(d.Value)
		}
		req.Draws.add(d)
		return nil
	}}
	if req.Draws != nil {
		r.Known = req.Draws.Known
	}
	if s.Key != nil {
		r.FindKey = func(ctx context.Context) ([]byte, error) { return s.Key(ctx, req.Parent) }
	}
	return r
}

// Holders are the observed Secrets, that are not being deleted, in which a random value stands that the script passed back, with these values
// as they stand in data. The value is nowhere else: when such a Secret was deleted, the script would get another one, if the key of the server
// or the UID of the parent is another one by then.
type Holders map[types.UID][]string

// Has reports whether a Secret is one of them.
func (h Holders) Has(secret types.UID) bool { return len(h[secret]) > 0 }

// With returns the Holders of both.
func (h Holders) With(more Holders) Holders {
	if len(more) == 0 {
		return h
	}
	all := Holders{}
	for _, some := range []Holders{h, more} {
		for uid, values := range some {
			all[uid] = append(all[uid], values...)
		}
	}
	return all
}

// passedBack finds the Holders of one call.
type passedBack struct {
	children *object.Set

	mu    sync.Mutex // guards the fields below
	found Holders
	by    map[string][]types.UID // the observed Secrets with a value, by the value as it stands in their data; nil: not looked up yet
}

// note adds the Secrets with a value. They are found by it, and not by the object that the script passed, which may be a copy of a part.
func (h *passedBack) note(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by, h.found = valuesOf(h.children), Holders{}
	}
	stored := base64.StdEncoding.EncodeToString([]byte(value))
	for _, uid := range h.by[stored] {
		if !slices.Contains(h.found[uid], stored) {
			h.found[uid] = append(h.found[uid], stored)
		}
	}
}

func (h *passedBack) all() Holders {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.found)
}

// valuesOf returns the Secrets of a set by their values.
func valuesOf(children *object.Set) map[string][]types.UID {
	by := map[string][]types.UID{}
	if children == nil {
		return by
	}
	for _, secret := range children.Group(object.Kind{Version: "v1", Kind: "Secret"}) {
		if object.Deleting(secret) {
			continue // it does not keep them
		}
		for _, value := range secret.TextsAt("data") {
			by[value] = append(by[value], secret.GetUID())
		}
	}
	return by
}
