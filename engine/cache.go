package engine

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A cache stores compiled programs.
//
// An entry may be reused for every script of the same tenant with the same digest, that is the same language, entry and files: a
// program depends on nothing else, and keeps no state between calls. Tenants do not share entries: the time that a compilation
// takes would tell a tenant whether another has the same script. The limits of the compilation do not matter, because limits can
// make a compilation fail but do not change its result. For the same reason a failure is not stored: with more time, or on a less
// busy machine, the script may compile.
//
// If there are too many entries, the one that was used least recently is dropped. A caller that has a dropped program may
// continue to call it.
//
// Concurrent compilations of the same text within the same limits happen once. Each caller waits only until its own ctx is
// done; if the ctx of the running compilation is done, another caller starts it again.
type cache struct {
	mu       sync.Mutex // guards the fields below
	programs *simplelru.LRU[textKey, Program]
	running  map[compilation]*inProgress
}

// A textKey identifies the text of a script of one tenant, by its digest.
type textKey struct{ tenant, digest string }

// A compilation is the key of a running compilation: only one runs at a time for each key.
type compilation struct {
	text   textKey
	limits Limits
}

// An inProgress is a compilation that is running. The other fields may be read once done is closed.
type inProgress struct {
	done    chan struct{}
	program Program
	err     error
}

func newCache(size int) *cache {
	programs, err := simplelru.NewLRU[textKey, Program](size, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &cache{programs: programs, running: map[compilation]*inProgress{}}
}

// get returns the cached program for key, or else the result of compile, which it stores.
func (c *cache) get(ctx context.Context, key compilation, compile func() (Program, error)) (Program, error) {
	for {
		p, f, created := c.find(key)
		if p != nil {
			return p, nil
		}
		if created {
			defer c.finish(key, f)
			f.program, f.err = compile()
			return f.program, f.err
		}
		select {
		case <-f.done:
			if !IsKind(f.err, KindCanceled) {
				return f.program, f.err
			}
		case <-ctx.Done():
			return nil, &Error{Kind: KindCanceled, Msg: "canceled while waiting for another to compile the same script"}
		}
	}
}

// find returns the program, or the running compilation to wait for. If there is neither, it returns a new compilation, which
// the caller has to run, and created is true.
func (c *cache) find(key compilation) (p Program, f *inProgress, created bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.programs.Get(key.text); ok {
		return p, nil, false
	}
	f, ok := c.running[key]
	if !ok {
		f = &inProgress{done: make(chan struct{})}
		c.running[key] = f
	}
	return nil, f, !ok
}

// finish ends a compilation, and stores its program.
func (c *cache) finish(key compilation, f *inProgress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.program != nil {
		c.programs.Add(key.text, f.program)
	}
	delete(c.running, key)
	close(f.done)
}
