package scripts

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/runtimes"
)

// closing compiles of a script only what its entry reaches.
type closing struct{ engine.Runtime }

func (r closing) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	all := texts{source: "test", data: map[string]string{}}
	err := fs.WalkDir(s.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := fs.ReadFile(s.Files, name)
		all.data[name] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	program, err := r.reached(ctx, s, all, l, false)
	if e := (*engine.Error)(nil); errors.As(err, &e) && e.Kind == engine.KindModule {
		return r.reached(ctx, s, all, l, true) // now its hint says what there is
	}
	return program, err
}

func (r closing) reached(ctx context.Context, s engine.Script, all texts, l engine.Limits, everything bool) (engine.Program, error) {
	c := newClosure(all, s.Language, 1<<40)
	c.queue(s.Entry, true)
	if err := c.run(); err != nil {
		return nil, err
	}
	if everything || c.everything {
		if err := c.all(c.everything); err != nil {
			return nil, err
		}
	}
	s.Files = c.files()
	return r.Runtime.Compile(ctx, s, l)
}

// All that is promised of scripts holds when they consist of what the entry reaches.
func TestConformance(t *testing.T) {
	for language, runtime := range runtimes.All() {
		t.Run(language, func(t *testing.T) { enginetest.Run(t, language, closing{runtime}) })
	}
}
