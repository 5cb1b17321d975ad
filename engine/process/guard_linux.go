//go:build linux && (amd64 || arm64)

package process

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// missingHere returns what the system lacks, if this is known without a worker. A worker checks the rest; see harden.
func missingHere() []string { return nil }

// attributes make a new worker end with the thread that starts it, and protect it from the terminal's signals.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// enlarge gives a pipe a larger buffer, if the system permits it. It does not use Fd, which would make f blocking.
func enlarge(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
}

// A guard limits the memory of this process, a worker. It implements [engine.Memory].
type guard struct {
	statm   *os.File     // /proc/self/statm, which the filter does not allow to be opened later
	base    usage        // before any script has run
	soft    int64        // the memory that Go used at that time
	allowed atomic.Int64 // how much more than base this process may use for the current call
}

// A usage is the memory that the kernel counts for RLIMIT_DATA and RLIMIT_AS.
type usage struct{ data, size int64 }

const (
	threads  = 8         // see makeThreads
	niceness = 10        // a tenth of the CPU time that others get on a busy machine; with less, scripts there would never finish
	oomScore = 1000      // the kernel kills a worker before all other processes
	slackAS  = 128 << 20 // address space that Go reserves in large pieces before it uses it
	largest  = 1 << 30   // the largest request
)

// harden restricts this process until it ends, and returns what could not be restricted. No call may use more memory than
// ceiling.
func harden(ceiling int64) (g *guard, missing []string) {
	debug.SetMaxStack(stackSize)
	debug.SetGCPercent(400) // most of the memory are packed objects, which stay; allow bounds the garbage
	makeThreads()
	g = &guard{}
	for _, guard := range []struct {
		name string
		set  func() error
	}{
		{"a low priority (nice 10)", checkPriority},
		{"oom_score_adj", setOOMScore},
		{"RLIMIT_DATA and RLIMIT_AS", func() error { return g.begin(ceiling) }},
		{"seccomp", confine},
		{"a seccomp filter that holds", probeFilter},
	} {
		if err := guard.set(); err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", guard.name, err))
		}
	}
	return g, missing
}

// makeThreads creates as many threads as Go will need, so that the limits include their memory.
func makeThreads() {
	var started, done sync.WaitGroup
	started.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait() // so that each goroutine has its own thread
		})
	}
	done.Wait()
}

// lowerPriority lowers the priority of this thread. A process that it starts inherits the priority, with all threads that Go creates
// there.
func lowerPriority() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) }

// checkPriority checks that this process was started with the low priority.
func checkPriority() error {
	if got, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || got != 20-niceness {
		return errors.Join(errors.New("it is not in effect"), err)
	}
	return nil
}

// setOOMScore makes this process the first to be killed when memory runs out.
func setOOMScore() error {
	const path = "/proc/self/oom_score_adj"
	if err := os.WriteFile(path, strconv.AppendInt(nil, oomScore, 10), 0); err != nil {
		return err
	}
	if got, err := os.ReadFile(path); err != nil || string(bytes.TrimSpace(got)) != strconv.Itoa(oomScore) {
		return errors.Join(errors.New("it is not in effect"), err)
	}
	return nil
}

// begin measures base, sets hard limits that are sufficient for the largest call, and checks that the limits are in effect.
func (g *guard) begin(ceiling int64) (err error) {
	if g.statm, err = os.Open("/proc/self/statm"); err != nil {
		return err
	}
	if g.base, err = g.usage(); err != nil {
		return err
	}
	g.soft = goMemory()
	maximum := allowance(ceiling, largest) * weight
	for resource, n := range map[int]int64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0,
		unix.RLIMIT_DATA: g.base.data + maximum, unix.RLIMIT_AS: g.base.size + maximum + slackAS,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}); err != nil {
			return err
		}
	}
	if err := g.probe(unix.RLIMIT_DATA, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("RLIMIT_DATA: %w", err)
	}
	if err := g.probe(unix.RLIMIT_AS, unix.PROT_NONE); err != nil {
		return fmt.Errorf("RLIMIT_AS: %w", err)
	}
	return g.allow(ceiling, 0)
}

// probe checks that a limit prevents a mapping. It tries several times, since memory may be released meanwhile.
func (g *guard) probe(resource int, protection int) error {
	const margin = 64 << 20
	for range 10 {
		u, err := g.usage()
		if err != nil {
			return err
		}
		now := map[int]int64{unix.RLIMIT_DATA: u.data, unix.RLIMIT_AS: u.size}
		if err := setSoft(resource, now[resource]+margin); err != nil {
			return err
		}
		m, err := unix.Mmap(-1, 0, 2*margin, protection, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return nil
		}
		if err := unix.Munmap(m); err != nil {
			return err
		}
	}
	return errors.New("it does not hold")
}

// setSoft sets the soft limit of a resource.
func setSoft(resource int, n int64) error {
	var l unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &l); err != nil {
		return err
	}
	l.Cur = min(uint64(n), l.Max)
	return unix.Prlimit(0, resource, &l, nil)
}

// allow sets the limits for a call with that memory limit, whose values are estimated to use cost.
//
// It also sets Go's memory limit, somewhat below these limits, so that Go collects garbage more often.
func (g *guard) allow(limit, cost int64) error {
	n := allowance(limit, cost)
	if n == g.allowed.Load() {
		return nil
	}
	if err := setSoft(unix.RLIMIT_DATA, g.base.data+n*weight); err != nil {
		return err
	}
	if err := setSoft(unix.RLIMIT_AS, g.base.size+n*weight+slackAS); err != nil {
		return err
	}
	debug.SetMemoryLimit(g.soft + n - overshoot)
	g.allowed.Store(n)
	return nil
}

// Full implements [engine.Memory]: no more than reserve is left of the memory of this process, and the memory that the last
// garbage collection found in use is more than Go's memory limit.
func (g *guard) Full() bool {
	used, live := goHeap()
	n := g.allowed.Load()
	return used > g.soft+n-reserve && live > n-overshoot
}

// Fits implements [engine.Memory].
func (g *guard) Fits(bytes int64) bool {
	maximum := g.soft + g.allowed.Load() - reserve
	if used, _ := goHeap(); used+bytes <= maximum {
		return true
	}
	runtime.GC()
	used, _ := goHeap()
	return used+bytes <= maximum
}

// mapped returns the most memory that this process has used so far, in addition to base: Go does not return memory to the system.
func (g *guard) mapped() int64 {
	u, err := g.usage()
	if err != nil {
		return math.MaxInt64
	}
	return max(0, u.data-g.base.data) / weight
}

// usage reads the size of this process; see proc_pid_statm(5).
func (g *guard) usage() (usage, error) {
	var b [128]byte
	n, err := g.statm.ReadAt(b[:], 0)
	fields := bytes.Fields(b[:n])
	if len(fields) < 6 {
		return usage{}, errors.Join(errors.New("/proc/self/statm cannot be read"), err)
	}
	size, err := strconv.ParseInt(string(fields[0]), 10, 64)
	data, err2 := strconv.ParseInt(string(fields[5]), 10, 64)
	page := int64(os.Getpagesize())
	return usage{data: data * page, size: size * page}, errors.Join(err, err2)
}

// goMemory returns the memory that debug.SetMemoryLimit counts.
func goMemory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// goHeap returns the memory that debug.SetMemoryLimit counts, without the memory that Go can reuse at once, and the memory
// that was in use at the end of the last garbage collection.
func goHeap() (used, live int64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return goMemory() - int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64())
}
