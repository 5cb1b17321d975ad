package process

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"metascript/engine"
)

// maxStderr is how much of a worker's stderr is stored, from the beginning: Go first reports what happened.
const maxStderr = 16 << 10

// A firstBytes is an io.Writer that keeps only the beginning of what is written to it.
type firstBytes struct {
	mu   sync.Mutex // guards text
	text []byte
}

// Write implements [io.Writer]. It never fails.
func (h *firstBytes) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), maxStderr-len(h.text))]...)
	return len(p), nil
}

// String returns the stored text.
func (h *firstBytes) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

// drain reads all of a worker's stderr.
func (h *firstBytes) drain(r io.ReadCloser) {
	_, _ = io.Copy(h, r) // it fails when the worker has ended
	r.Close()
}

// Parts of the messages with which Go's runtime reports a fatal error. A segmentation violation in the runtime itself, and not in a
// goroutine, means that the garbage collector did not get the memory that it needs. The last two of memoryErrors are messages of the
// race detector.
var (
	memoryErrors = []string{"out of memory", "cannot allocate", "SIGSEGV: segmentation violation\nPC=", "failed to allocate", "address space collisions"}
	stackErrors  = []string{"stack exceeds", "stack overflow", "runtime.copystack("} // no memory to make it larger
)

// died returns the error of an evaluation whose worker died by itself. state is the state of the process, and killed says that it
// was ended by the signal KILL.
func died(state string, killed bool, stderr string, at engine.Pos, l engine.Limits) *engine.Error {
	contains := func(messages []string) bool {
		for _, message := range messages {
			if strings.Contains(stderr, message) {
				return true
			}
		}
		return false
	}
	switch {
	case contains(stackErrors):
		return &engine.Error{
			Kind: engine.KindStack, Pos: at,
			Msg:  fmt.Sprintf("the script needs more than %s of stack", engine.Size(stackSize)),
			Hint: "look for recursion that does not end, or for data that is nested very deeply",
		}
	case contains(memoryErrors), killed && stderr == "":
		return engine.TooMuchMemory(at, l, "")
	}
	return &engine.Error{
		Kind: engine.KindPanic, Pos: at, Msg: "the worker process died: " + state, Stack: stderr,
		Hint: "this is a bug in the interpreter or in metascript; please report it",
	}
}

// stackSize is the maximum size of the stack of a script's goroutine.
const stackSize = 64 << 20
