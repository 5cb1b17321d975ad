package javascript

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/dop251/goja"

	"metascript/engine"
)

// regexp2's timeout counts wall-clock time. A search that it stopped on a busy machine is repeated from the same position, and a
// search that used that much processor time ends the call.
func TestSearchOnABusyMachine(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	for _, c := range []struct {
		name string
		late func() // what a search does that regexp2 stops
		stop int    // the number of such searches
		kind engine.Kind
	}{
		{"waits once", func() { <-time.After(matchTimeout) }, 1, ""},
		{"waits twice", func() { <-time.After(matchTimeout) }, 2, ""},
		{"works", func() {
			for began := time.Now(); time.Since(began) < matchTimeout; {
			}
		}, 1 << 20, engine.KindTimeout},
	} {
		p, err := New().Compile(t.Context(), files("sync.js", noop), engine.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		r, searches := p.(*program).newRun(engine.Limits{}, nil), 0
		fault := r.within(t.Context(), func() error {
			pattern, err := r.vm.RunString("const p = /(?=a)a/g; p.lastIndex = 3; p")
			if err != nil {
				return err
			}
			r.patterns.backtracks = true
			got := matched(r, goja.FunctionCall{This: pattern, Arguments: []goja.Value{r.vm.ToValue("abcabc")}}, func(goja.FunctionCall) goja.Value {
				o := pattern.(*goja.Object)
				if at := o.Get("lastIndex").ToInteger(); at != 3 {
					t.Errorf("%s: search %d begins at %d", c.name, searches, at)
				}
				if searches++; searches > c.stop {
					return r.vm.ToValue(true)
				}
				c.late()
				_ = o.Set("lastIndex", 0) // as a search does that finds nothing
				return goja.Null()
			})
			if !got.ToBoolean() {
				t.Errorf("%s: got %v", c.name, got)
			}
			return nil
		})
		if c.kind == "" && fault != nil || c.kind != "" && (fault == nil || fault.Kind != c.kind) {
			t.Errorf("%s: got %v after %d searches", c.name, fault, searches)
		}
	}
}
