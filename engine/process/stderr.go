package process

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"metascript/engine"
)

// maxStderr is how much of what a worker writes to stderr is kept, from the beginning: Go says first what happened.
const maxStderr = 16 << 10

// A firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	mu   sync.Mutex
	text []byte
}

func (h *firstBytes) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), maxStderr-len(h.text))]...)
	return len(p), nil
}

func (h *firstBytes) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

// drain reads all of a worker's stderr.
func (h *firstBytes) drain(r io.ReadCloser) {
	_, _ = io.Copy(h, r) // it fails when the worker is gone
	r.Close()
}

// How Go dies, in its runtime's words. A violation in the runtime itself, as opposed to a panic, is the collector not
// getting the memory that it needs. The last two of memory are the race detector's.
var (
	memoryDeaths = []string{"out of memory", "cannot allocate", "SIGSEGV: segmentation violation\nPC=", "failed to allocate", "address space collisions"}
	stackDeaths  = []string{"stack exceeds", "stack overflow", "runtime.copystack("} // no memory to make it larger
)

// died is the error of an evaluation whose worker died by itself; how it died and what it wrote to stderr tell why.
func died(how string, killed bool, stderr string, at engine.Pos, l engine.Limits) *engine.Error {
	contains := func(signs []string) bool {
		for _, sign := range signs {
			if strings.Contains(stderr, sign) {
				return true
			}
		}
		return false
	}
	switch {
	case contains(stackDeaths):
		return &engine.Error{
			Kind: engine.KindStack, Pos: at,
			Msg:  fmt.Sprintf("the script needs more than %s of stack", engine.Size(stackSize)),
			Hint: "look for recursion that does not end, or for data that is nested very deeply",
		}
	case contains(memoryDeaths), killed && stderr == "":
		return engine.TooMuchMemory(at, l, "")
	}
	return &engine.Error{
		Kind: engine.KindPanic, Pos: at, Msg: "the worker process died: " + how, Stack: stderr,
		Hint: "this is a fault of the interpreter, or of ours; please report it",
	}
}

// stackSize is how large the stack of a script's goroutine may grow.
const stackSize = 64 << 20
