package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// drawing is a runtime whose function draws that many values.
func drawing(values int) fake {
	return fake{call: func(_ context.Context, _ string, _ map[string]any, env Env) (map[string]any, error) {
		if values > 0 && (env.Random == nil || env.Random.Key == nil) {
			return nil, &Error{Kind: KindKey, Msg: "it needs a key", Hint: "not shown with the reason"}
		}
		for i := range values {
			observed := Draw{Value: fmt.Sprint(i), Observed: true} // these are not limited
			if err := errors.Join(env.Random.Draw(observed), env.Random.Draw(Draw{Label: fmt.Sprint(i), Value: string(env.Random.Key)})); err != nil {
				return nil, err
			}
		}
		return map[string]any{}, nil
	}}
}

func TestKeyIsReadOnlyForCallThatDraws(t *testing.T) {
	for _, c := range []struct{ values, reads int }{{0, 0}, {1, 3}} {
		p, reads := mustCompile(t, newFakeEngine(drawing(c.values)), fakeScript("")), 0
		env := Env{Random: &Random{FindKey: func(context.Context) ([]byte, error) { reads++; return []byte("key"), nil }}}
		for range 3 {
			if _, err := p.Call(t.Context(), "sync", nil, env); err != nil {
				t.Fatal(err)
			}
		}
		if reads != c.reads || p.(Drawing).Draws() != (c.values > 0) {
			t.Errorf("%d values: the key was read %d times, want %d", c.values, reads, c.reads)
		}
		if env.Random.Key != nil {
			t.Error("the caller's Random has the key")
		}
	}
}

func TestUnreadableKeyIsNotFaultOfScript(t *testing.T) {
	p := mustCompile(t, newFakeEngine(drawing(1)), fakeScript(""))
	readable := true
	env := Env{Random: &Random{FindKey: func(context.Context) ([]byte, error) {
		if readable {
			return []byte("key"), nil
		}
		return nil, errors.New("forbidden")
	}}}
	for _, readable = range []bool{false, true, false} {
		_, err := p.Call(t.Context(), "sync", nil, env)
		if readable {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if e := wantKind(t, err, KindCanceled); e.Msg != "it needs a key: forbidden" || e.Hint != "" {
			t.Error(e)
		}
	}
	_, err := p.Call(t.Context(), "sync", nil, Env{})
	wantKind(t, err, KindKey)
}

func TestDrawsAreLimited(t *testing.T) {
	for _, values := range []int{MaxDraws, MaxDraws + 1} {
		p, drawn := mustCompile(t, newFakeEngine(drawing(values)), fakeScript("")), 0
		env := Env{Random: &Random{Key: []byte("key"), Drawn: func(d Draw) error {
			if !d.Observed {
				drawn++
			}
			return nil
		}}}
		_, err := p.Call(t.Context(), "sync", nil, env)
		if values > MaxDraws {
			if e := wantKind(t, err, KindRuntime); !strings.HasPrefix(e.Msg, "more than 1000 random values") {
				t.Error(e)
			}
		} else if err != nil {
			t.Error(err)
		}
		if drawn != MaxDraws {
			t.Errorf("%d draws were reported, want %d", drawn, MaxDraws)
		}
	}
}
