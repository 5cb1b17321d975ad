package javascript

import (
	"errors"
	"reflect"
	"testing"

	"github.com/dop251/goja"

	"metascript/engine"
)

// A search ends the call after a number of steps, however fast the machine is.
func TestStepsOfASearch(t *testing.T) {
	for _, source := range []string{
		`/(a+)+\1b/.test('a'.repeat(40))`,
		`'x'.repeat(20000).replace(/(?=x*x*y)x/, '')`,
		`'\u00e4' + 'a'.repeat(20000).split(/(?:a*)*\1(z)/)`,
	} {
		_, err := call(t, "exports.sync = () => ({v: "+source+"})", nil, engine.Limits{})
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Kind != engine.KindTimeout || fault.Msg != "a regular expression took more than 20 million steps" {
			t.Errorf("%s: got %v", source, err)
		}
	}
}

// Neither the text nor the place where a search begins is read twice: it could be another one the second time, and would not be limited.
func TestSearchReadsOnce(t *testing.T) {
	for source, want := range map[string]any{
		`/(?:a|aa)+b/g`:                int64(2), // in lastIndex and in the text
		`/(?:a|aa)+b/y`:                int64(2),
		`/(?:a|aa)+b/`:                 int64(2), // the standard reads lastIndex also if it does not matter
		`/(?=a)b/g`:                    int64(2),
		`new RegExp('(?:a|aa)+', 'g')`: int64(2),
	} {
		for _, method := range []string{"test", "exec"} {
			script := "let n = 0; const read = v => ({valueOf: () => n++ ? 1 : v, toString: () => n++ ? 'a'.repeat(60) : v})\n" +
				"exports.sync = () => { const p = " + source + "; p.lastIndex = read(0); p." + method + "(read('a')); return {n} }"
			got, err := call(t, script, nil, engine.Limits{})
			if err != nil || got["n"] != want {
				t.Errorf("%s.%s: got %v, %v, want %v", source, method, got["n"], err, want)
			}
		}
	}
}

// A text that is missing is searched as "undefined".
func TestSearchInNoText(t *testing.T) {
	got, err := call(t, "exports.sync = () => ({v: [/(?=u)/.test(), /(u)*nd/.exec(undefined)[0], /null/.test(null), 'undefined'.search()]})", nil, engine.Limits{})
	if want := []any{true, "und", true, int64(0)}; err != nil || !reflect.DeepEqual(got["v"], want) {
		t.Errorf("got %v, %v, want %v", got["v"], err, want)
	}
}

// Searches one after the other in the same text convert it once.
func TestSearchesInTheSameText(t *testing.T) {
	p, err := New().Compile(t.Context(), files("sync.js", noop), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := p.(*program).newRun(engine.Limits{}, nil)
	fault := r.within(t.Context(), func() error {
		for _, source := range []string{"'\u00e4a'.repeat(100)", "'ab'.repeat(100)"} {
			v, err := r.vm.RunString(source)
			if err != nil {
				return err
			}
			first := r.textFor(v.(goja.String), false)
			if r.textFor(v.(goja.String), false) != first || r.textFor(v.(goja.String), true) == first || r.textFor(asString("\u00e4"), false) == first {
				t.Errorf("%s: the text is not converted once", source)
			}
		}
		return nil
	})
	if fault != nil {
		t.Fatal(fault)
	}
}
