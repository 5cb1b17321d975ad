package runtimes_test

import (
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/runtimes"
)

// Which files of a script may read the time.
func TestFilesThatMayReadTheTime(t *testing.T) {
	for _, c := range []struct {
		language string
		files    map[string]string // the first by name is the entry
		want     map[string]bool
	}{
		{engine.Starlark, map[string]string{
			"a.star": "load('b.star', 'f')\nload('c.star', 'g')\ndef sync(parent): return f(parent)",
			"b.star": "def f(request): return request['now']",
			"c.star": "# now\ndef g(o): return 'not now'",
			"d.star": "def unused(): pass",
		}, map[string]bool{"a.star": false, "b.star": true, "c.star": false, "d.star": true}},
		{engine.JavaScript, map[string]string{
			"a.js": "const {f} = require('./b.js'); const g = () => require('./c.js'); exports.sync = (r) => f(r); // now",
			"b.js": "exports.f = (r) => Date.now();",
			"c.js": "exports.g = 1;", // it is not loaded yet
		}, map[string]bool{"a.js": false, "b.js": true, "c.js": true}},
		{engine.TypeScript, map[string]string{
			"a.ts": "import {f} from './b'; type R = {now: string; parent: any}; export function sync({parent}: R) { return f(parent); }",
			"b.ts": "export const f = ({now}: {now: string}) => ({status: {now}});",
		}, map[string]bool{"a.ts": false, "b.ts": true}},
		{engine.Jsonnet, map[string]string{"a.jsonnet": "{ sync(parent):: {} }"}, map[string]bool{"a.jsonnet": true}},
	} {
		files, entry := fstest.MapFS{}, ""
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
			if entry == "" || name < entry {
				entry = name
			}
		}
		e := engine.New(engine.Options{Runtimes: runtimes.All()})
		program, err := e.Compile(t.Context(), engine.Script{Language: c.language, Entry: entry, Files: files}, engine.Limits{})
		if err != nil {
			t.Errorf("%s: %s", c.language, engine.DetailOf(err))
			continue
		}
		for file, want := range c.want {
			if got := program.(engine.Timed).MayReadTime(file); got != want {
				t.Errorf("%s: %s may read the time: %t", c.language, file, got)
			}
		}
	}
}
