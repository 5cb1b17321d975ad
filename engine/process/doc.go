// Package process runs scripts in worker processes, for scripts whose authors are not trusted: it also protects against attacks
// that the guards of the runtimes do not cover. [New] starts a [Pool], whose Runtimes are for an [engine.Engine]. A worker is a
// program that calls [Main] for the verb [Verb], by default our own.
//
// A worker runs the same runtimes, with all their guards, in its own Engine with one slot. It receives each script once,
// identifies it by digest, and serves one call at a time. What is limited, by what, and why:
//
//	what                     how                                                           where
//	memory of a call         RLIMIT_DATA, and RLIMIT_AS for single large pieces: what the  guard_linux.go
//	                         process uses without a script, the values of the request,     memory.go
//	                         and Limits.Memory; near that limit Go collects garbage more
//	                         often, and then the worker stops the script
//	stack                    the stack of a goroutine is limited to 64 MiB                 guard_linux.go
//	time                     the worker ends a call when its time is up; so does the       worker.go
//	                         parent, which reads the worker's CPU time, and kills the
//	                         worker if it has used 200 ms more and has not ended the call
//	CPUs                     nice 10, two threads that run at the same time                guard_linux.go
//	memory of the machine    oom_score_adj 1000: the kernel ends workers first             guard_linux.go
//	files, network,          seccomp: system calls that are not needed fail with EPERM;    seccomp_linux.go
//	processes, signals       no_new_privs; no new executable memory
//	secrets                  no environment, no open files but three pipes                 worker.go
//	the parent's memory      the sizes of answers, logs and stderr are checked before      message.go, codec.go
//	                         memory is allocated; what a worker sends is not trusted       stderr.go
//	other tenants            a worker never serves two tenants: an idle one of another     pool.go
//	                         tenant is killed, never used again
//	other owners             a worker serves one owner at a time, and removes all objects  pool.go, objects.go
//	                         before the next; if a script exceeded a limit, the worker is
//	                         killed instead
//	later calls              a worker that died, sent an invalid message, or ran out of    pool.go
//	                         memory is replaced by one that was started in advance
//	orphans                  workers die with the thread that started them, and exit       pool.go, serve.go
//	                         when their stdin ends
//
// When a worker starts, it checks that each of these is in effect, and reports it; [New] fails if one is not, and [Missing]
// returns which. There are workers only on Linux, on amd64 and arm64.
//
// # Errors
//
// A fault of a script in a worker is the same [engine.Error] as in this process. A script whose memory is nearly used up is stopped, and
// the error has the position where it was stopped. If the worker dies, for example because of a single operation that uses too
// much memory, the position is the called function, since no more is known: the error has KindMemory if memory ran out, KindStack
// if the stack did, KindTimeout if the worker was killed because it was late, and otherwise KindPanic, with the beginning of what
// the worker wrote to stderr.
//
// # Time
//
// A timeout counts CPU time; see [metascript/engine/cputime]. The worker counts the time of the thread that runs the script, the
// parent the time of the whole process, with its garbage collection, but never more than the time that has passed. The parent
// needs no privilege to read it, and the worker's filter cannot prevent it; if the system does not report it, the parent counts
// the time that passes. A worker that waits, or gets no CPU, is killed after cputime.Bound.
//
// # Cost
//
// A call costs a write and a read of a pipe on each side, and the encoding of its values; see codec.go. Objects that
// [engine.Env].Identify names are sent once for each worker and version, and large maps of them only as what has changed; see
// objects.go. A packed object is sent as its bytes. The worker checks and copies these, and scripts read the copy. What a script reads
// of recorded objects is sent back with the answer; see reads.go. A worker that lies about it can only make its owner get an old answer.
package process
