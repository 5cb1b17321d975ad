package lib_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"metascript/engine"
)

// A drawer is a meter with a key.
type drawer struct {
	free
	random engine.Random
}

func (d *drawer) Random() *engine.Random { return &d.random }

func draw(key, name string, args ...any) (any, error) {
	return callWith(&drawer{random: engine.Random{Key: []byte(key)}}, name, args...)
}

// mustDraw returns a value, which must be the same each time.
func mustDraw(t *testing.T, key, name string, args ...any) any {
	t.Helper()
	got, err := draw(key, name, args...)
	if again, _ := draw(key, name, args...); err != nil || got != again {
		t.Fatalf("%s(%v) = %v and %v, %v", name, args, got, again, err)
	}
	return got
}

func TestRandomValuesDiffer(t *testing.T) {
	seen := map[any]string{}
	for _, c := range []struct {
		key, name string
		args      arr
	}{
		{"a", "random.password", arr{"x", nil, "k"}}, {"b", "random.password", arr{"x", nil, "k"}}, {"a", "random.password", arr{"y", nil, "k"}},
		{"a", "random.password", arr{"x", nil, "k", int64(25)}}, {"a", "random.token", arr{"x", nil, "k", int64(24)}}, {"a", "random.token", arr{"x", nil, "k", int64(24), "ab"}},
	} {
		value := mustDraw(t, c.key, c.name, c.args...).(string)[:24]
		what := fmt.Sprint(c)
		if before, twice := seen[value]; twice {
			t.Errorf("%s and %s are both %s", before, what, value)
		}
		seen[value] = what
	}
	if mustDraw(t, "a", "random.password", "x", nil, "k") != mustDraw(t, "a", "random.password", "x", nil, "other") {
		t.Error("the value depends on where it stands")
	}
}

func TestPasswordsHaveAllClasses(t *testing.T) {
	for i := range 500 {
		for _, length := range []int{8, 24} {
			got := mustDraw(t, "key", "random.password", fmt.Sprint(i), nil, "k", int64(length)).(string)
			if len(got) != length || !strings.ContainsAny(got, "abcdefghijklmnopqrstuvwxyz") || !strings.ContainsAny(got, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ||
				!strings.ContainsAny(got, "0123456789") || !strings.ContainsAny(got, "-._~") || strings.Trim(got[:1], "0123456789-._~") == "" {
				t.Fatalf("%q", got)
			}
		}
	}
}

// All characters of a token are about equally frequent, also if their number does not divide 256.
func TestTokensAreUniform(t *testing.T) {
	const alphabet, tokens, length = "äbcdefg", 100, 700
	counts := map[rune]int{}
	for i := range tokens {
		for _, r := range mustDraw(t, "key", "random.token", fmt.Sprint(i), nil, "k", int64(length), alphabet).(string) {
			counts[r]++
		}
	}
	for _, r := range alphabet {
		if n := counts[r]; n < 9500 || n > 10500 {
			t.Errorf("%c is there %d times among %d", r, n, tokens*length)
		}
	}
}

func TestChoiceChangesOnlyIfItHasTo(t *testing.T) {
	list := arr{"a", "b", "c", "d"}
	counts := map[any]int{}
	for i := range 400 {
		name := fmt.Sprint(i)
		chosen := mustDraw(t, "key", "random.choice", name, list)
		counts[chosen]++
		if other := mustDraw(t, "key", "random.choice", name, arr{"d", "c", "b", "a"}); other != chosen {
			t.Errorf("%v in another order: %v", chosen, other)
		}
		if more := mustDraw(t, "key", "random.choice", name, append(arr{"e"}, list...)); more != chosen && more != "e" {
			t.Errorf("%v with another element: %v", chosen, more)
		}
		if kept := mustDraw(t, "key", "random.choice", name, list, "b"); kept != "b" {
			t.Errorf("the current element b: %v", kept)
		}
	}
	for _, element := range list {
		if counts[element] < 60 {
			t.Errorf("chosen: %v", counts)
		}
	}
}

func TestRandomMistakes(t *testing.T) {
	secret := func(data obj) obj { return obj{"apiVersion": "v1", "kind": "Secret", "data": data} }
	for _, c := range []struct {
		name string
		args arr
		want string
	}{
		{"random.password", arr{"x", nil, "k", int64(7)}, "random.password: length is 7, want a whole number from 8 to 1024"},
		{"random.password", arr{"", nil, "k"}, "random.password: name has 0 bytes, want 1 to 200"},
		{"random.password", arr{"x", nil, nil}, "random.password: key is null, want a string"},
		{"random.password", arr{"x", obj{"apiVersion": "apps/v1", "kind": "Deployment"}, "k"}, `secret is a Deployment, want an observed Secret or null (take it from the request, such as children["Secret.v1"])`},
		{"random.password", arr{"x", obj{"a": secret(nil)}, "k"}, "secret is an object that is no Secret of v1"},
		{"random.password", arr{"x", secret(obj{"k": "%"}), "k"}, "data.k of the Secret is not text in base64"},
		{"random.password", arr{"x", secret(obj{"k": "/w=="}), "k"}, "data.k of the Secret is not text in base64"},
		{"random.password", arr{"x", secret(obj{"k": int64(1)}), "k"}, "k of the Secret is a number, want a string"},
		{"random.token", arr{"x", nil, "k", int64(8), "aa"}, "alphabet has 2 characters, want 2 to 256 different ones"},
		{"random.choice", arr{"x", arr{}}, "random.choice: list is empty"},
	} {
		if _, err := draw("key", c.name, c.args...); err == nil || !strings.Contains(withHint(err), c.want) {
			t.Errorf("%s(%v): error %v, want %s", c.name, c.args, withHint(err), c.want)
		}
	}
	var fault *engine.Error
	if _, err := call("random.password", "x", nil, "k"); !errors.As(err, &fault) || fault.Kind != engine.KindKey {
		t.Errorf("without a key: %v", err)
	}
}

// A value that stands in a Secret is reported too: the server does not delete the Secret to recreate it.
func TestObservedValueIsReported(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": "aHVudGVyMg=="}}
	for _, name := range []string{"random.password", "random.token"} {
		var got []engine.Draw
		d := &drawer{random: engine.Random{Drawn: func(one engine.Draw) error { got = append(got, one); return nil }}}
		if value, err := callWith(d, name, "x", secret, "k"); value != "hunter2" || err != nil {
			t.Errorf("%s: %v, %v", name, value, err)
		}
		if len(got) != 1 || got[0] != (engine.Draw{Value: "hunter2", Secret: true, Observed: true}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
