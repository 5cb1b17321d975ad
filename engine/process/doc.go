// Package process runs scripts in worker processes, for scripts whose authors one does not trust: it is to hold
// against what the guards of the runtimes do not know. [New] starts a [Pool], whose Runtimes are given to an
// [engine.Engine]; a program whose verb [Verb] calls [Main] is the worker, by default our own.
//
// A worker runs the same runtimes, with all their guards, in an Engine of its own with one slot. It is sent scripts
// once, knows them by digest, and serves one call at a time. What is guarded, by whom, and why:
//
//	what                     how                                                           where
//	memory of a call         RLIMIT_DATA, and RLIMIT_AS for single large pieces: what the  guard_linux.go
//	                         process takes at rest, the values of the request, and         memory.go
//	                         Limits.Memory; Go collects garbage harder before that, and
//	                         the worker stops the script shortly before that
//	stack                    no goroutine's grows beyond 64 MiB                            guard_linux.go
//	time                     the worker ends a call when its time is up; so does the       worker.go
//	                         parent, who reads the worker's processor time, and ends the
//	                         worker when that has had 200 ms more and has not obeyed
//	processors               nice 10, two threads that run at once                         guard_linux.go
//	memory of the machine    oom_score_adj 1000: the kernel ends workers first             guard_linux.go
//	files, network,          seccomp: what is not needed to compute fails with EPERM;      seccomp_linux.go
//	processes, signals       no_new_privs; no new executable memory
//	secrets                  no environment, no open files but three pipes                 worker.go
//	the parent's memory      answers, logs and stderr are bounded before there is room     message.go, codec.go
//	                         for them; what a worker sends is not trusted                  stderr.go
//	other owners             a worker serves one owner at a time, and forgets all objects  pool.go, objects.go
//	                         before the next; if a script hit a limit it is ended instead
//	next calls               a worker that died, or sent nonsense, or ran out of memory    pool.go
//	                         is replaced, by one that was started before
//	orphans                  workers die with the thread that started them, and exit       pool.go, serve.go
//	                         when their stdin ends
//
// A worker sees for itself, when it starts, whether each of these is in effect, and says so; [New] fails when one is
// not, and [Missing] tells which. There are no workers but on Linux, on amd64 and arm64.
//
// # Errors
//
// A script's fault in a worker is the same [engine.Error] as in process. A script whose memory is nearly used up is stopped
// where it stands, so that the error has that position. When the worker dies, as of a single operation that takes too much,
// the position is the function that was called, since no more is known: the error is KindMemory when memory ran out,
// KindStack when the stack did, KindTimeout when the worker was killed for being late, and else KindPanic, with the beginning
// of what the worker wrote to stderr.
//
// # Time
//
// A timeout counts processor time; see [metascript/engine/cputime]. The worker counts that of the thread that runs the
// script, the parent that of the whole process, which has garbage to collect, too, but never more than has passed. The
// parent needs no privilege to read it, and the worker's filter has no say in that; where a system does not tell, the parent counts
// the time that passes. A worker that waits, or never has a processor, is ended after cputime.Bound.
//
// # Cost
//
// A call costs two writes and two reads of a pipe, and what has to travel: see codec.go for how values do. Objects
// that [engine.Env].Identify names travel once for each worker and version; see objects.go.
package process
