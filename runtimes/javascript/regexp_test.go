package javascript

import (
	"errors"
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
