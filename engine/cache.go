package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A cache keeps compiled programs.
//
// An entry may be reused whenever a script has the same digest, that is the same language, entry and files: a
// program depends on nothing else, and remembers nothing of its calls. The limits it was compiled within do not
// matter, because limits can make a compilation fail and cannot change what comes of it. For the same reason a
// failure is never kept: with more time, or on a machine that is less busy, the script may compile.
//
// An entry is dropped when there are too many, the one that was asked for least recently first. Who holds a dropped
// program may continue calling it.
//
// Compilations of the same script within the same limits that are wanted at the same time happen once. Each caller
// waits no longer than its own ctx; when the one whose ctx the compilation runs under gives up, another begins again.
type cache struct {
	mu       sync.Mutex
	programs *simplelru.LRU[string, Program]
	running  map[compilation]*inProgress
}

// A compilation is what is done once at a time.
type compilation struct {
	digest string
	limits Limits
}

// An inProgress is a compilation that is running. The other fields may be read once done is closed.
type inProgress struct {
	done    chan struct{}
	program Program
	err     error
}

func newCache(size int) *cache {
	kept, err := simplelru.NewLRU[string, Program](size, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &cache{programs: kept, running: map[compilation]*inProgress{}}
}

// get returns the program kept for c, or what compile gives, to keep it.
func (c *cache) get(ctx context.Context, key compilation, compile func() (Program, error)) (Program, error) {
	for {
		p, f, mine := c.find(key)
		if p != nil {
			return p, nil
		}
		if mine {
			defer c.finish(key, f)
			f.program, f.err = compile()
			return f.program, f.err
		}
		select {
		case <-f.done:
			if !isKind(f.err, KindCanceled) {
				return f.program, f.err
			}
		case <-ctx.Done():
			return nil, &Error{Kind: KindCanceled, Msg: "canceled while waiting for another to compile the same script"}
		}
	}
}

// find returns the program, or else the compilation to wait for, or one that the caller has to do.
func (c *cache) find(key compilation) (p Program, f *inProgress, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.programs.Get(key.digest); ok {
		return p, nil, false
	}
	f, ok := c.running[key]
	if !ok {
		f = &inProgress{done: make(chan struct{})}
		c.running[key] = f
	}
	return nil, f, !ok
}

// finish ends a compilation, and keeps its program.
func (c *cache) finish(key compilation, f *inProgress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.program != nil {
		c.programs.Add(key.digest, f.program)
	}
	delete(c.running, key)
	close(f.done)
}

func isKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e != nil && e.Kind == k
}
