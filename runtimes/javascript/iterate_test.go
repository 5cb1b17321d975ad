package javascript

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Loops see the same elements as calls of next, also if the array changes, has holes or accessors, or is none.
func TestIteration(t *testing.T) {
	for body, want := range map[string]string{
		`const r = []; for (const x of [1, , 3]) r.push(x ?? 'hole'); return r`:                                               `[1, "hole", 3]`,
		`const r = [], l = [1, 2]; for (const x of l) { r.push(x); if (l.length < 4) l.push(9) } return r`:                    `[1, 2, 9, 9]`,
		`const r = [], l = [1, 2, 3]; for (const x of l) { r.push(x); l.length = 2 } return r`:                                `[1, 2]`,
		`const r = []; for (const x of a) { r.push(x); if (a.length < 4) a.push(9) } return r`:                                `[1, 2, 9, 9]`,
		`const r = [], it = a[Symbol.iterator](); it.next(); for (const x of it) r.push(x); return r`:                         `[2]`,
		`const r = [], it = [1, 2, 3].values(); for (const x of it) { r.push(x, it.next().value) } return r.map(x => x ?? 0)`: `[1, 2, 3, 0]`,
		`return [...[7, 8].keys(), ...Array.from([7].entries())[0]]`:                                                          `[0, 1, 0, 7]`,
		`const l = [1]; Object.defineProperty(l, 1, {get: () => 5}); const [x, y, z = 6] = l; return [x, y, z]`:               `[1, 5, 6]`,
		`const it = [1][Symbol.iterator](); return [it.next(), it.next().done, it.next().done]`:                               `[{"value": 1, "done": false}, true, true]`,
		`function* g() { yield* [1, 2] } const it = g(); return [it.next(), ...it]`:                                           `[{"value": 1, "done": false}, 2]`,
		`return Array.from(Array.prototype.values.call({length: 2, 0: 'x', 1: 'y'}))`:                                         `["x", "y"]`,
		`const r = []; for (const x of Array.prototype.values.call({length: 2, 0: 'x'})) r.push(x ?? 0); return r`:            `["x", 0]`,
		`const r = []; for (const x of new Set(a)) r.push(x); for (const [k, v] of new Map([[1, 2]])) r.push(k, v); return r`: `[1, 2, 1, 2]`,
		`const r = []; for (const x of (function () { return arguments })(4, 5)) r.push(x); return r`:                         `[4, 5]`,
		`const r = []; for (const c of 'ab') r.push(c); return r`:                                                             `["a", "b"]`,
	} {
		got := mustCall(t, `function sync({a}) { const f = () => { `+body+` }; return {is: f()} }`, `{"a": [1, 2]}`)
		if diff := cmp.Diff(object(t, `{"is": `+want+`}`), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}
