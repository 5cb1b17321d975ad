package starlark

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"metascript/engine"
)

// FuzzCompile compiles any text: it succeeds, or returns an error of the script, within the limits.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		"def sync(parent, children):\n    return {\"a\": [x for x in children]}\n", "x = 1\nx += 2\nx[0] *= 3\n", "load('a', 'b')",
		"f(*[1], **{})", "x.join(y)", "a.b.c = (lambda x, y=1: x % y)(2)", "if 1:\n  pass\nelif 2:\n  pass\n", "d[1], (a, b) = 1, (2, 3)", "[1][0] <<= 2",
		"def sync(request):\n    c = request.children\n    return [c['a'], c.get('b'), 'c' in c, [c.d for c in c], (lambda c: c)(c)]\n",
	} {
		f.Add(text)
	}
	l := engine.Limits{Timeout: time.Second, Steps: 100_000, Memory: 1 << 20}
	e := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.Starlark: New()}})
	f.Fuzz(func(t *testing.T, text string) {
		p, err := e.Compile(t.Context(), script(text), l)
		if err == nil && len(p.Functions()) > 0 {
			_, err = p.Call(t.Context(), p.Functions()[0], map[string]any{}, engine.Env{Limits: l})
		}
		var fault *engine.Error
		if err != nil && (!errors.As(err, &fault) || fault.Kind == engine.KindPanic) {
			t.Fatalf("%v", engine.DetailOf(err))
		}
	})
}

// FuzzView runs a script on any request: the script does not change the request.
func FuzzView(f *testing.F) {
	f.Add(`{"a": {"b": [1, 2, {"c": null}]}, "d": "text", "e": 1.5}`)
	p := compile(f, `
def sync(request):
    own, seen = dict(request), []
    for key in request:
        v = request[key]
        seen.append((type(v), str(v), v == request.get(key), v in [request[key]], hasattr(request, key)))
        own.update([(key, [v])])
        own[key] += [v, dir(v)]
        if type(v) == "dict":
            own |= v
            seen += sorted(v.items(), key=str)
        if type(v) == "list":
            own[key] = sorted(v + v, key=repr) + [v[:1], list(reversed(v)), v.index(v[0]) if v else 0]
    return {"own": json.decode(json.encode(own)), "request": request}
`)
	f.Fuzz(func(t *testing.T, text string) {
		var arg, unchanged map[string]any
		if json.Unmarshal([]byte(text), &arg) != nil || json.Unmarshal([]byte(text), &unchanged) != nil {
			return
		}
		answer, err := p.Call(t.Context(), "sync", arg, engine.Env{Limits: engine.Limits{Steps: 1_000_000}})
		if !reflect.DeepEqual(arg, unchanged) {
			t.Fatalf("the request was changed: %v", arg)
		}
		if err == nil && !reflect.DeepEqual(answer["request"], any(unchanged)) {
			t.Fatalf("the request came back as %v", answer["request"])
		}
	})
}
