package controller

import (
	"testing"
	"time"
)

func TestSooner(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {3, 5, 3}, {5, 3, 3}} {
		if got := sooner(c.a, c.b); got != c.want {
			t.Errorf("of %d and %d: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
