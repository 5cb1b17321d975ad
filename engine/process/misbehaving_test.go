package process

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"metascript/engine"
)

// misbehaving is a language whose functions do what a script must not be able to.
const misbehaving = "Misbehaving"

type badRuntime struct{}

func (badRuntime) Compile(context.Context, engine.Script, engine.Limits) (engine.Program, error) {
	return badProgram{}, nil
}

type badProgram struct{}

func (badProgram) Functions() []string { return []string{"allocate", "exit", "spin", "sync"} }

func (badProgram) Place(string) engine.Pos { return engine.Pos{File: "sync", Line: 1} }

// Call does what fn says.
func (badProgram) Call(_ context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	switch fn {
	case "echo":
		return arg, nil
	case "log":
		for i := range 3 {
			env.Log(engine.Message{Level: engine.Warn, Pos: engine.Pos{File: "f", Line: i}, Text: fmt.Sprint("line ", i)})
		}
	case "fail":
		return nil, &wholeError
	case "spin":
		if env.Log != nil {
			env.Log(engine.Message{})
		}
		for i := 0; ; i++ {
			_ = i
		}
	case "block":
		select {}
	case "allocate":
		return map[string]any{"n": int64(len(make([]byte, 8<<30)))}, nil
	case "grow":
		grow(nil)
	case "recurse":
		return map[string]any{"n": recurse(1)}, nil
	case "panic":
		panic("on purpose")
	case "crash":
		go func() { panic("out of the fence") }()
		select {}
	case "exit":
		os.Exit(3)
	case "garbage":
		fmt.Fprint(os.Stdout, strings.Repeat("garbage", 1000))
		select {}
	case "huge":
		_, _ = os.Stdout.Write([]byte{0xff, 0xff, 0xff, 0xff, byte(kindAnswer)})
		select {}
	case "shout":
		for {
			fmt.Fprintln(os.Stderr, "shouting")
		}
	case "escape":
		return escape(), nil
	case "system":
		return system(), nil
	case "identity":
		id, version := env.Identify(engine.GoMap(arg["object"].(map[string]any)))
		return map[string]any{"id": id, "version": version, "pid": int64(os.Getpid())}, nil
	case "pid":
		return map[string]any{"pid": int64(os.Getpid())}, nil
	}
	return map[string]any{}, nil
}

var wholeError = engine.Error{
	Kind: engine.KindRaised, Pos: engine.Pos{File: "f", Line: 1, Col: 2}, Func: "g", Msg: "m", Source: "s", Hint: "h",
	Trace: []engine.Frame{{Func: "a", Pos: engine.Pos{File: "b", Line: 3, Col: 4}, Times: 5}}, Stack: "stack",
}

func recurse(n int64) int64 {
	if n < 0 {
		return n
	}
	var room [64]int64
	room[n%64] = recurse(n + 1)
	return room[n%64] + 1
}

// grow fills memory, a MiB at a time.
func grow(all [][]byte) {
	for len(all) < 1<<30 {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
	}
}

// escape tries the ways out, and gives what succeeded.
func escape() map[string]any {
	out := map[string]any{}
	try := func(name string, f func() error) {
		if err := f(); err == nil {
			out[name] = true
		}
	}
	try("open", func() error { _, err := os.ReadFile("/etc/passwd"); return err })
	try("create", func() error { return os.WriteFile("/tmp/metascript-escape", nil, 0o600) })
	try("list", func() error { _, err := os.ReadDir("/"); return err })
	try("socket", func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err })
	try("resolve", func() error { _, err := net.LookupHost("localhost"); return err })
	try("start", func() error { return exec.Command("/bin/true").Run() })
	try("signal", func() error { return syscall.Kill(os.Getppid(), 0) })
	try("limits", func() error {
		return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: 1 << 40, Max: 1 << 40})
	})
	try("code", func() error {
		_, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		return err
	})
	for i, v := range os.Environ() {
		out[fmt.Sprint("environment ", i)] = v
	}
	return out
}

// system says how the process is set up.
func system() map[string]any {
	var core syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_CORE, &core)
	return map[string]any{
		"core": int64(core.Max), "procs": int64(runtime.GOMAXPROCS(0)), "pid": int64(os.Getpid()),
	}
}
