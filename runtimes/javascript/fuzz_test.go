package javascript

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// FuzzCompile compiles and calls any text: the result is a value or an error of the script.
func FuzzCompile(f *testing.F) {
	f.Add(noop)
	f.Add(status)
	f.Add(full)
	for _, body := range []string{
		"[].indexOf.call({length: 2 ** 53}, 1)", "/^(a+)+\\1b$/.test('a'.repeat(64))", "const {repeat} = ''; repeat.call('a', 1e9)",
		"for (;;) try { 'a'.repeat(1e9) } finally { continue }", "class A extends Array { static get [Symbol.species]() { return A } }",
		"JSON.stringify({toJSON() { return [this] }})", "return (async () => { for await (const x of []) ; })()", "`${[...'abc']}`",
		"const {children: {a, 'b': [c]}, related = {}} = request, d = d; for (const x in related) related?.e?.f; return 'g' in request.children",
	} {
		f.Add("function sync(request) { " + body + " }")
	}
	f.Fuzz(func(t *testing.T, src string) {
		l := engine.Limits{Timeout: 100 * time.Millisecond, Memory: 8 << 20}
		ctx, cancel := context.WithTimeout(t.Context(), l.Timeout)
		defer cancel()
		p, err := New().Compile(ctx, files("sync.js", src), l)
		if err == nil {
			_, err = p.Call(ctx, "sync", map[string]any{}, engine.Env{Limits: l})
		}
		if e := (*engine.Error)(nil); err != nil && (!errors.As(err, &e) || e.Kind == engine.KindPanic) {
			t.Fatal(err)
		}
	})
}

// FuzzView runs any statements on a request: they must not change the request.
func FuzzView(f *testing.F) {
	for _, s := range []string{
		"r.a = 1", "delete r.list", "r.list.push(1)", "r.list.sort()", "r.list.length = 0", "Object.assign(r.o, r)", "r.list[5] = r",
		"for (const k in r) delete r[k]", "Object.defineProperty(r, 'a', {value: 1})", "r.list.splice(1, 1, r.o)", "JSON.stringify(r)",
		"r.list.reverse().fill(r.o)", "({...r.o}).b.c = 1", "Array.prototype.concat.call(r.list, r.list)", "r.__proto__ = null",
	} {
		f.Add(s)
	}
	const text = `{"a": {"b": {"c": "x"}}, "list": [3, 1, {"x": [1]}, "s"], "o": {"b": {"c": 1.5}}, "wide": 9007199254740993, "none": null}`
	f.Fuzz(func(t *testing.T, statements string) {
		l := engine.Limits{Timeout: 100 * time.Millisecond, Memory: 8 << 20}
		ctx, cancel := context.WithTimeout(t.Context(), l.Timeout)
		defer cancel()
		p, err := New().Compile(ctx, files("sync.js", "function sync(r) { "+statements+"\nreturn r }"), l)
		if err != nil {
			return
		}
		request := object(t, text)
		_, err = p.Call(ctx, "sync", request, engine.Env{Limits: l})
		if e := (*engine.Error)(nil); err != nil && (!errors.As(err, &e) || e.Kind == engine.KindPanic) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(t, text), request); diff != "" {
			t.Fatalf("the request was changed:\n%s", diff)
		}
	})
}
