package javascript

import (
	"context"
	"testing"

	"metascript/engine"
)

// BenchmarkMachines measures the same small call with three ways to separate calls: a new machine whose functions are guarded when
// they are first used, which is what this package does; machines that another goroutine prepares, one for each call; and one
// machine with frozen intrinsics, in which each call runs the program again in a new scope. The processor time includes that of
// other goroutines.
func BenchmarkMachines(b *testing.B) {
	for _, c := range []struct {
		name, script string
		pods         int
	}{{"noop", noop, 1}, {"status", status, 10}} {
		compiled, err := New().Compile(b.Context(), files("sync.js", c.script), engine.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		p, arg := compiled.(*program), request(b, c.pods)
		answer := func(b *testing.B, r *run, e exports) {
			err := r.within(b.Context(), func() error {
				value, err := r.apply(e, "sync", arg)
				if err == nil {
					_, err = r.convertResult("sync", value)
				}
				return err
			})
			if err != nil {
				b.Fatal(err.Detail())
			}
		}
		prepare := func(b *testing.B) (r *run, e exports) {
			r = p.newRun(engine.Limits{}, nil)
			if fault := r.within(b.Context(), func() (err error) { e, err = r.load(p.entry); return err }); fault != nil {
				b.Error(fault.Detail())
			}
			return r, e
		}
		b.Run(c.name+"/fresh", func(b *testing.B) {
			benchmarkCPU(b, func() {
				r, e := prepare(b)
				answer(b, r, e)
			})
		})
		b.Run(c.name+"/prepared", func(b *testing.B) {
			type ready struct {
				r *run
				e exports
			}
			ctx, cancel := context.WithCancel(b.Context())
			machines, done := make(chan ready, 4), make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					r, e := prepare(b)
					select {
					case machines <- ready{r, e}:
					case <-ctx.Done():
					}
				}
			}()
			benchmarkCPU(b, func() {
				m := <-machines
				answer(b, m.r, m.e)
			})
			cancel()
			<-done
		})
		b.Run(c.name+"/locked", func(b *testing.B) {
			r := p.newRun(engine.Limits{}, nil)
			module, err := p.module(b.Context(), p.entry, r.limits)
			if err != nil {
				b.Fatal(err)
			}
			if fault := r.within(b.Context(), func() error { _, err := r.vm.RunString(lock); return err }); fault != nil {
				b.Fatal(fault.Detail())
			}
			benchmarkCPU(b, func() {
				var e exports
				fault := r.within(b.Context(), func() (err error) { e, err = r.execute(p.entry, module); return err })
				if fault != nil {
					b.Fatal(fault.Detail())
				}
				answer(b, r, e)
			})
		})
	}
}

// lock freezes all objects that can be reached from the global object.
const lock = `(() => {
	const seen = new Set()
	const visit = v => {
		if (v === null || typeof v !== 'object' && typeof v !== 'function' || seen.has(v)) return
		seen.add(v)
		for (const name of Reflect.ownKeys(v)) {
			const {value, get, set} = Object.getOwnPropertyDescriptor(v, name)
			visit(value); visit(get); visit(set)
		}
		visit(Object.getPrototypeOf(v))
		if (v !== globalThis && v !== console) Object.freeze(v)
	}
	visit(globalThis)
})()`
