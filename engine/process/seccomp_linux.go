//go:build linux && (amd64 || arm64)

package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowed are the system calls that a worker may make after it has restricted itself: for its open files, its memory, its threads
// and the clock. All others fail with EPERM, such as those that open files, create sockets, start programs or send signals.
var allowed = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, // Go's poller
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_GETRANDOM,
}, allowedHere...)

// A rule allows a system call depending on the lower 32 bits of one of its arguments.
type rule struct {
	call     uint32
	argument uint32
	test     uint16 // how the argument is compared with value: BPF_JEQ or BPF_JSET
	value    uint32
	allow    bool // whether the call is allowed if the test is true; otherwise the opposite
}

// rules returns the rules for the system calls that are not in allowed.
func rules() []rule {
	return []rule{
		{unix.SYS_CLONE, 0, unix.BPF_JSET, unix.CLONE_THREAD, true},      // threads, but not processes
		{unix.SYS_MMAP, 2, unix.BPF_JSET, unix.PROT_EXEC, false},         // no executable memory
		{unix.SYS_MPROTECT, 2, unix.BPF_JSET, unix.PROT_EXEC, false},     //
		{unix.SYS_TGKILL, 0, unix.BPF_JEQ, uint32(os.Getpid()), true},    // Go's preemption
		{unix.SYS_PRLIMIT64, 0, unix.BPF_JEQ, 0, true},                   // its own soft limits
		{unix.SYS_PRCTL, 0, unix.BPF_JEQ, uint32(unix.PR_SET_VMA), true}, // Go names its memory
	}
}

// Offsets in struct seccomp_data.
const (
	offsetCall      = 0
	offsetArch      = 4
	offsetArguments = 16
)

// filter returns the BPF program that the kernel runs for every system call.
func filter() []unix.SockFilter {
	const deny = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	action := map[bool]uint32{true: unix.SECCOMP_RET_ALLOW, false: deny}
	f := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetCall), jump(unix.BPF_JGE, foreignCalls, 0, 1), ret(unix.SECCOMP_RET_KILL_PROCESS),
	}
	for _, call := range allowed {
		f = append(f, jump(unix.BPF_JEQ, call, 0, 1), ret(unix.SECCOMP_RET_ALLOW))
	}
	for _, r := range rules() {
		f = append(f, jump(unix.BPF_JEQ, r.call, 0, 4),
			load(offsetArguments+8*r.argument), jump(r.test, r.value, 0, 1), ret(action[r.allow]), ret(action[!r.allow]))
	}
	// The flags of clone3 are in memory, which a filter cannot read. If clone3 does not exist, the C library uses clone instead.
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	return append(f, ret(deny))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(test uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: value, Jt: yes, Jf: no}
}

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// confine sets no_new_privs and the filter, for all threads at once. It needs no privilege.
func confine() error {
	runtime.LockOSThread() // no_new_privs is set for this thread; setting the filter sets it for the others
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	f := filter()
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return errno
	case thread != 0:
		return errors.New("a thread has a filter of its own")
	}
	return nil
}

// probeFilter returns an error if the filter is not in effect.
func probeFilter() error {
	if fd, err := unix.Open("/proc/self/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		return errors.Join(errors.New("a file could be opened"), unix.Close(fd))
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		return errors.Join(errors.New("a socket could be made"), unix.Close(fd))
	}
	return nil
}
