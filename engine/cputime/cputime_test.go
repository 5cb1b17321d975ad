package cputime

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "spin" {
		for i := 0; ; i++ {
			_ = i
		}
	}
	os.Exit(m.Run())
}

// spin uses a CPU until done is closed.
func spin(done <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
			_ = i
		}
	}
}

// until waits until a condition is true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(what)
		}
	}
}

// A thread that spins uses CPU time, a thread that waits uses almost none.
func TestThread(t *testing.T) {
	done := make(chan struct{})
	clocks := make(chan Clock)
	for _, work := range []func(<-chan struct{}){spin, func(done <-chan struct{}) { <-done }} {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			clocks <- Thread()
			work(done)
		}()
	}
	busy, waiting := NewMeter(), NewMeter()
	first, second := <-clocks, <-clocks
	busy.Start(first)
	waiting.Start(second)
	until(t, "no thread had 50 ms", func() bool { return max(busy.CPUTime(), waiting.CPUTime()) >= 50*time.Millisecond })
	if less := min(busy.CPUTime(), waiting.CPUTime()); less > 25*time.Millisecond {
		t.Errorf("the thread that waits used %s", less)
	}
	close(done)
}

// The CPU time of a process can be read from another process while it runs, and does not change after its end.
func TestProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "spin")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	m := NewMeter()
	m.Start(Process(child.Process.Pid))
	until(t, "it had less than 50 ms", func() bool { return m.CPUTime() >= 50*time.Millisecond })
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // it was killed
	last := m.CPUTime()
	if again := m.CPUTime(); again != last || last < 50*time.Millisecond {
		t.Errorf("CPU time %s, and %s after its end", last, again)
	}
}

func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter()
		time.Sleep(time.Second)
		if m.CPUTime() != 0 || m.Elapsed() != time.Second {
			t.Errorf("before Start: CPU time %s, elapsed %s", m.CPUTime(), m.Elapsed())
		}
		var had time.Duration
		ok := true
		m.Start(func() (time.Duration, bool) { return had, ok })
		time.Sleep(time.Second)
		for _, step := range []struct {
			clock time.Duration
			ok    bool
			want  time.Duration
		}{{10, true, 10}, {time.Hour, true, time.Second}, {20, true, 20}, {30, false, 20}} {
			if had, ok = step.clock, step.ok; m.CPUTime() != step.want {
				t.Errorf("%v: CPU time %s", step, m.CPUTime())
			}
		}
		m.Start(func() (time.Duration, bool) { return 0, false })
		time.Sleep(time.Minute)
		if m.CPUTime() != time.Minute {
			t.Errorf("with a clock that cannot be read: CPU time %s", m.CPUTime())
		}
	})
}

// Wait waits twice as long for an activity that gets half of a CPU, and until Bound for one that gets none.
func TestWait(t *testing.T) {
	for _, test := range []struct {
		share int64 // one in so many; 0: it has none
		want  time.Duration
	}{{1, time.Second}, {2, 2 * time.Second}, {0, Bound(time.Second)}} {
		synctest.Test(t, func(t *testing.T) {
			m, began := NewMeter(), time.Now()
			m.Start(func() (time.Duration, bool) {
				if test.share == 0 {
					return 0, true
				}
				return time.Since(began) / time.Duration(test.share), true
			})
			if m.Wait(make(chan struct{}), time.Second) {
				t.Error("Wait returned true before done was closed")
			}
			if took := m.Elapsed(); took < test.want || took > test.want+time.Second {
				t.Errorf("waited for %s, want %s", took, test.want)
			}
			done := make(chan struct{})
			time.AfterFunc(time.Millisecond, func() { close(done) })
			if !m.Wait(done, time.Second) {
				t.Error("Wait returned false after done was closed")
			}
		})
	}
}
