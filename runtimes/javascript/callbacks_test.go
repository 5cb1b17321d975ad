package javascript

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// A callback is made once if nothing distinguishes the functions that it would make.
func TestCallbacksMadeOnce(t *testing.T) {
	for _, c := range []struct {
		script string
		once   int
	}{
		{`const f = l => l.find(c => c.type === 'Ready')`, 1},
		{`const f = l => l.items?.find(c => c?.type === 'Ready')`, 1},
		{`function f(l) { return l.filter(({type, status: [s] = []}) => type === s).some(x => x) }`, 2},
		{`const kind = 'a', f = l => l.every((x, i) => x.kind === kind && Math.max(x, i))`, 1},
		{`function f(l) { return l.find(x => g(x)) } function g(x) { return {x} }`, 1},
		{`const f = l => l.find(x => l.includes(x))`, 0},
		{`function f(l, type) { return l.find(c => c.type === type) }`, 0},
		{`function f(l) { const type = l[0]; return l.find(c => ({type})) }`, 0},
		{`function f(l) { for (const t of l) if (l.some(x => x === t)) return t }`, 0},
		{`for (const t of [1]) f = l => l.some(x => x === t)`, 0},
		{`{ let t = 1; f = l => l.some(x => x === t) }`, 0},
		{`try { f() } catch ({message}) { f = l => l.some(x => x === message) }`, 0},
		{`function f(...rest) { return rest.some(x => rest[x]) }`, 0},
		{`const f = function again(l) { return l.some(x => again(x)) }`, 0},
		{`function f(l) { class A {} return l.some(x => x instanceof A) }`, 0},
		{`function f(l, d) { return l.find((x, y = d) => x === y) }`, 0},
		{`function f(l) { return l.find(x => x === this) }`, 0},
		{`function f(l) { return l.find(x => x === arguments[0]) }`, 0},
		{`function f(l) { return l.find(x => x === new.target) }`, 0},
		{`class A { #p = 1; f(l) { return l.find(x => x.#p) } }`, 0},
		{`const f = l => l.find(x => { return x })`, 0},
		{`const f = l => l.find(x => () => x)`, 0},
		{`const f = l => l.find(async x => x)`, 0},
		{`const f = l => l.find(function (x) { return x })`, 0},
		{`const f = l => l.map(x => x)`, 0},
		{`const f = l => find(x => x)`, 0},
		{`with ({t: 1}) { f = l => l.find(x => x === t) }`, 0},
	} {
		p, err := New().Compile(t.Context(), files("sync.js", c.script+"\nfunction sync() {}"), engine.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.script, err)
			continue
		}
		m, _ := p.(*program).modules.Load("sync.js")
		if got := m.(*module).once; got != c.once {
			t.Errorf("%s: %d callbacks are made once, want %d", c.script, got, c.once)
		}
	}
}

// Callbacks that are made once do what they would do otherwise, and have no name.
func TestCallbacksAgain(t *testing.T) {
	const script = `
		const limit = 2, own = {find: f => f.name + '/' + f.length}
		const large = list => list.filter(x => x > limit)
		const nested = lists => lists.filter(l => l.some(x => x > limit)).length
		function sync({lists}) {
			return {large: lists.map(large), nested: nested(lists), again: nested(lists), name: own.find((a, b) => a), at: at()}
		}
		function at() {
			try { [1].find(x => x.y.z) } catch (e) { return e.stack.split('\n')[1].trim() }
		}`
	got := mustCall(t, script, `{"lists": [[1, 2, 3], [4], [0]]}`)
	want := object(t, `{"large": [[3], [4], []], "nested": 2, "again": 2, "name": "/2", "at": "at <anonymous> (sync.js:9:28)"}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
