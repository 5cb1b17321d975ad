package jsonnet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// Each hint for a function that std does not have has the code that works.
func TestHintsForOtherFunctions(t *testing.T) {
	for _, c := range []struct {
		wrong, code string
		want        any
	}{
		{`std.extVar('A')`, `parent.metadata.namespace`, "default"},
		{`std.native('parseYaml')(text)`, `metascript.libsonnet`, nil},
		{`std.env('A')`, `parent.spec`, map[string]any{}},
		{`std.uuid()`, `parent.metadata.uid`, "u-1"},
		{`std.now()`, `now`, "2026-01-02T15:04:05Z"},
		{`std.toJson(x)`, `std.manifestJson(x)`, `"a"`},
		{`std.manifestYaml(x)`, `std.manifestYamlDoc(x)`, `"a"`},
		{`std.fromYaml(text)`, `std.parseYaml(text)`, []any{int64(1)}},
		{`std.fromJson(text)`, `std.parseJson(text)`, []any{int64(1)}},
		{`std.padLeft(x, 5)`, `'%5s' % x`, "    a"},
		{`std.padRight(x, 5)`, `'%-5s' % x`, "a    "},
		{`std.zfill(n, 3)`, `'%03d' % n`, "007"},
		{`std.regexMatch(y, x)`, `std.startsWith(x, y)`, false},
		{`std.regexReplace(x, y, z)`, `std.strReplace(x, y, z)`, "a"},
		{`std.b64encode(text)`, `std.base64(text)`, "WzFd"},
		{`std.len(x)`, `std.length(x)`, int64(1)},
		{`std.lower(x)`, `std.asciiLower(x)`, "a"},
	} {
		evaluate := func(expr string) (any, error) {
			got, err := call(t, `{ sync(parent, now):: local x = 'a', y = 'b', z = 'c', n = 7, text = '[1]'; { v: `+expr+` } }`, map[string]any{
				"parent": map[string]any{"metadata": map[string]any{"uid": "u-1", "namespace": "default"}, "spec": map[string]any{}}, "now": "2026-01-02T15:04:05Z",
			}, engine.Env{})
			return got["v"], err
		}
		if _, err := evaluate(c.wrong); err == nil || !strings.Contains(engine.DetailOf(err), c.code) {
			t.Errorf("%s: want %s in the hint: %s", c.wrong, c.code, engine.DetailOf(err))
		}
		if c.want == nil {
			continue
		}
		got, err := evaluate(c.code)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.code, err, diff)
		}
	}
}
