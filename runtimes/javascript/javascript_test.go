package javascript

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/engine/cputime"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// files returns a script from alternating names and texts. The first file is the entry.
func files(namesAndTexts ...string) engine.Script {
	s := engine.Script{Language: engine.JavaScript, Entry: namesAndTexts[0]}
	fs := fstest.MapFS{}
	for i := 0; i < len(namesAndTexts); i += 2 {
		fs[namesAndTexts[i]] = &fstest.MapFile{Data: []byte(namesAndTexts[i+1])}
	}
	s.Files = fs
	return s
}

// call compiles a script of one file and calls its function sync. The timeout of the limits counts processor time.
func call(t testing.TB, script string, request map[string]any, l engine.Limits) (map[string]any, error) {
	t.Helper()
	return callFiles(t, files("sync.js", script), request, l)
}

func callFiles(t testing.TB, s engine.Script, request map[string]any, l engine.Limits) (map[string]any, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	meter := cputime.NewMeter()
	meter.Start(cputime.Thread())
	go func() {
		if !meter.Wait(ctx.Done(), l.WithDefaults().Timeout) {
			cancel(context.DeadlineExceeded)
		}
	}()
	p, err := New().Compile(ctx, s, l)
	if err != nil {
		return nil, err
	}
	return p.Call(ctx, "sync", request, engine.Env{Limits: l})
}

// wantError checks that err is an error of the script with that kind, and returns it.
func wantError(t testing.TB, what string, err error, kind engine.Kind) *engine.Error {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v, want a %s error", what, err, kind)
		return nil
	}
	if e.Kind != kind {
		t.Errorf("%s: got %s, want %s: %v", what, e.Kind, kind, err)
	}
	return e
}

// The properties of an object are listed in the same order whether it has many or few: numbers first, by size, then the others in
// the order of addition.
func TestOrderOfProperties(t *testing.T) {
	const script = `
		function object(n) {
			const o = {z: 0}
			for (let i = n; i > 0; i--) { o[i * 7 % n] = 1; o['k' + i % 5] = 1; o['0' + i] = 1; o[4294967294 + i % 2] = 1; o['+' + i] = 1 }
			return o
		}
		function expected(o, n) {
			const names = ['z'], numbers = []
			for (let i = n; i > 0; i--) {
				numbers.push(i * 7 % n, 4294967294)
				names.push('k' + i % 5, '0' + i, String(4294967294 + i % 2), '+' + i)
			}
			const all = [...new Set(numbers.sort((a, b) => a - b).map(String)), ...new Set(names.filter(x => x !== '4294967294'))]
			return all.join()
		}
		function loop(o) { const names = []; for (const name in o) names.push(name); return names.join() }
		function rest({z, ...others}) { return 'z,' + Object.keys(others).join() }
		exports.sync = ({n}) => {
			const want = expected(object(n), n), wrong = []
			const check = (what, got) => { if (got !== want) wrong.push(what) }
			check('keys', Object.keys(object(n)).join())
			check('names', Object.getOwnPropertyNames(object(n)).join())
			check('loop', loop(object(n)))
			check('spread', Object.keys({...object(n)}).join())
			check('assign', Object.keys(Object.assign({}, object(n))).join())
			check('JSON', Object.keys(JSON.parse(JSON.stringify(object(n)))).join())
			check('entries', Object.entries(object(n)).map(([name]) => name).join())
			const o = object(n), without = want.split(',').filter(x => x !== 'z')
			if (Object.keys((({z, ...rest}) => rest)(object(n))).join() !== without.join()) wrong.push('rest')
			delete o[5]; delete o.z; Object.keys(o); o.z = 0; o[5] = 0
			if (Object.keys(o).join() !== [...without, 'z'].join()) wrong.push('deleted and added')
			return {wrong}
		}`
	for _, n := range []int64{10, 3000} {
		got, err := call(t, script, map[string]any{"n": n}, engine.Limits{Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(engine.DetailOf(err))
		}
		if wrong := got["wrong"].([]any); len(wrong) > 0 {
			t.Errorf("%d: wrong order in %v", n, wrong)
		}
	}
}

// A pattern with a rest element destructures correctly in every position and for every value: see run.rest.
func TestRestPatterns(t *testing.T) {
	got, err := call(t, `
		const o = () => ({top: 1, x: 2, y: 3})
		const bare = Object.assign(Object.create(null), o())
		const {top, ...others} = o()
		function sync({}) {
			const all = {module: others}
			{ const {top, ...r} = bare; all.bare = r }
			{ let t, r; ({top: t, ...r} = o()); all.assigned = r }
			{ let t, box = {}; ({top: t, ...box.r} = o()); all.member = box.r }
			all.parameter = (({top, ...r}) => r)(o())
			all.default = ((a, {top, ...r} = o(), b = r) => b)(1)
			all.nested = (([{b: {top, ...r}}]) => r)([{b: o()}])
			for (const {top, ...r} of [o(), bare]) all.of = r
			for (const [, {top, ...r}] of new Map([[1, o()]])) all.entries = r
			try { throw o() } catch ({top, ...r}) { all.caught = r }
			function* yields({top, ...r}) { const {top: t, ...s} = yield r; yield s }
			const g = yields(o())
			all.yielded = g.next().value
			all.resumed = g.next(o()).value
			all.method = new (class { m({top, ...r}) { return r } })().m(o())
			all.field = new (class { f = (({top, ...r}) => r)(o()) })().f
			all.many = ((a, b, c, {['to' + 'p']: t, ...r}, ...more) => r)(1, 2, 3, o(), 5, 6)
			all.getter = (({get, ...r}) => r)({get get() { const {top, ...r} = o(); return r }, x: 2, y: 3})
			all.within = (({a, ...r}) => r.b)({a: 1, b: (({top, ...r}) => r)(o())})
			const wrong = Object.keys(all).filter(name => JSON.stringify(all[name]) !== '{"x":2,"y":3}')
			const others_ = [(({0: a, ...r}) => r)('ab'), (({...r}) => r)(5), (({0: a, ...r}) => r)(['a', 'b'])]
			if (JSON.stringify(others_) !== '[{"1":"b"},{},{"1":"b"}]') wrong.push('what is no object')
			for (const none of [null, undefined]) try { const {...r} = none; wrong.push('none') } catch (e) { if (!(e instanceof TypeError)) wrong.push(e.name) }
			return {wrong, seen: Object.keys(all).length}
		}`, map[string]any{}, engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	if wrong := got["wrong"].([]any); len(wrong) > 0 || got["seen"] != int64(17) {
		t.Errorf("wrong: %v, of %v", wrong, got["seen"])
	}
}

// Sets are filled from arrays as the language specifies, also from long ones, changed ones, and ones with another iterator.
func TestSetOfArray(t *testing.T) {
	got, err := call(t, `function sync() {
		const many = Array.from({length: 100}, (_, i) => i % 30)
		const other = many.slice(); other[Symbol.iterator] = function* () { yield 'a'; yield 'b' }
		class Own extends Set { add(v) { return super.add(v * 2) } }
		let calls = 0; const values = many.slice(); values[Symbol.iterator] = () => { calls++; return many.values() }
		new Set(values)
		return {many: new Set(many).size, few: new Set([1, 1, 2]).size, other: [...new Set(other)], own: Math.max(...new Own(many)), calls,
			odd: (() => { many[Symbol.iterator] = 5; try { new Set(many) } catch (e) { return e.name } })()}
	}`, nil, engine.Limits{})
	want := map[string]any{"many": int64(30), "few": int64(2), "other": []any{"a", "b"}, "own": int64(58), "calls": int64(1), "odd": "TypeError"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// The guards allow these normal uses of JavaScript.
func TestGuardsAllow(t *testing.T) {
	got, err := call(t, `
		function sync() {
			const noted = /a/g;
			noted.tag = 'x';
			let thrown = [];
			for (const f of [() => [1, 2].join(Symbol()), () => [Symbol()].join()]) {
				try { f(); } catch (e) { thrown.push(e.name); }
			}
			const made = Object.create({inherited: 1}, {own: {value: 2, enumerable: true}});
			const names = [];
			for (const name in made) names.push(name);
			function shifted() { const first = [].shift.call(arguments); [].push.call(arguments, first, 'z'); return [first, [].slice.call(arguments)] }
			const like = {0: 'b', 1: 'a', length: 2};
			if ([].sort.call(like) !== like || [].pop.call(like) !== 'b' || 1 in like) throw new Error(JSON.stringify(like));
			return {like, shifted: shifted(1, 2, 3), replaced: 'banana'.replace(noted, 'o'), joined: [1, 2].join(null), thrown, names};
		}`, nil, engine.Limits{})
	want := map[string]any{
		"like": map[string]any{"0": "a", "length": int64(1)}, "shifted": []any{int64(1), []any{int64(2), int64(3), int64(1), "z"}},
		"replaced": "bonono", "joined": "1null2", "thrown": []any{"TypeError", "TypeError"}, "names": []any{"own", "inherited"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got %v, difference:\n%s", err, diff)
	}
}
