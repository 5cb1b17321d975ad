package queue

import (
	"testing"
	"time"
)

func TestSpreadDelay(t *testing.T) {
	for _, c := range []struct {
		n    int
		want time.Duration // when the last is queued
	}{{1, 0}, {spreadAtOnce, 0}, {spreadAtOnce + 1, 5 * time.Millisecond}, {10_000, 9900 * 5 * time.Millisecond}} {
		if got := spreadDelay(c.n-1, c.n); got != c.want {
			t.Errorf("the last of %d is queued after %s, want %s", c.n, got, c.want)
		}
	}
	if last := spreadDelay(999_999, 1_000_000); last > spreadOver {
		t.Errorf("the last of a million is queued after %s", last)
	}
}
