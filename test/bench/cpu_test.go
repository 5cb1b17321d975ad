package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time that this process and its children have used.
func cpuTime(tb testing.TB) time.Duration {
	total := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			tb.Fatal(err)
		}
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return total + runningChildren()
}

// runningChildren returns the CPU time of the children that have not ended, which getrusage does not count. It is 0 on systems other than
// Linux. Its resolution is 10 ms.
func runningChildren() time.Duration {
	const tick = 10 * time.Millisecond
	ticks := 0
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		for _, pid := range bytes.Fields(pids) {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
			fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
			if len(fields) > 12 {
				user, _ := strconv.Atoi(string(fields[11]))
				system, _ := strconv.Atoi(string(fields[12]))
				ticks += user + system
			}
		}
	}
	return time.Duration(ticks) * tick
}
