package throttle

import (
	"testing"
	"time"
)

func TestContentionDelayGrows(t *testing.T) {
	now, c := time.Now(), &Contention{}
	for n := range ContentionAllowed {
		if wait, report := c.Delay(now); wait > 0 || report {
			t.Fatalf("after %d writes it waits %s", n, wait)
		}
		c.Count(now)
	}
	if c.Writes() != ContentionAllowed {
		t.Errorf("%d writes are counted, want %d", c.Writes(), ContentionAllowed)
	}
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
		if wait, report := c.Delay(now); wait != want || !report {
			t.Fatalf("it waits %s, reported: %t; want %s", wait, report, want)
		}
		if wait, report := c.Delay(now.Add(want - 1)); wait != 1 || report {
			t.Fatalf("before the delay of %s is over it waits %s, reported: %t", want, wait, report)
		}
		now = now.Add(want)
		if wait, _ := c.Delay(now); wait > 0 {
			t.Fatalf("after the delay of %s it waits %s", want, wait)
		}
		c.Count(now)
	}
	if c.Forgotten(now.Add(ContentionForgotten)) || !c.Forgotten(now.Add(ContentionForgotten+1)) {
		t.Errorf("it is not forgotten just after %s", ContentionForgotten)
	}
}

func TestBackoffDoublesUpToLimit(t *testing.T) {
	b := backoff{5 * time.Second, 5 * time.Minute}
	for n, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		if got := b.after(n); got != want*time.Second {
			t.Errorf("after %d failures: %s, want %ds", n, got, want)
		}
	}
	if got := b.after(1 << 40); got != 5*time.Minute {
		t.Errorf("after very many failures: %s", got)
	}
}
