package hook

import (
	"context"
	"maps"
	"sync"

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

// random returns what gives a call random values. The redactor removes those that are secret.
func (s *Script) random(req *Request, redactor *redact.Redactor) *engine.Random {
	r := &engine.Random{Drawn: func(d engine.Draw) error {
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
