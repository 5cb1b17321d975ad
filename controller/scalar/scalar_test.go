package scalar

import "testing"

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true}, {1.0, int64(1), true}, {int64(1<<53 + 1), float64(1 << 53), false}, {"1", int64(1), false},
		{nil, nil, true}, {nil, "", false}, {true, true, true}, {"a", "a", true}, {map[string]any{}, "a", false}, {"a", []any{}, false},
	} {
		if got := Equal(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %t", c.a, c.b, got)
		}
	}
}

func TestSameText(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1000m", "1", true}, {"1Ki", "1024", true}, {"1.5", "1.4", false}, {"60s", "1m0s", true}, {"2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", true},
		{"::1", "0:0:0:0:0:0:0:1", true}, {"YQ==", "Y\nQ==", true}, {"a b", "a  b", false},
	} {
		if got := SameText(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %t", c.a, c.b, got)
		}
	}
}
