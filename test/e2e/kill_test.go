package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"metascript/test/faultproxy"
)

var (
	kill = flag.String("kill", "", "kill servers without a name: before, before each of their writes is passed on to the API server, or after, before its answer is passed on to the server; the first write of each object, and some of the others")
	seed = flag.Uint64("seed", rand.Uint64(), "of what is random in tests with faults")
)

// A killer kills the process of a server at its writes, and starts it again with the same flags.
type killer struct {
	mu     sync.Mutex // guards the fields below, and the process of the server
	server *server
	world  *world
	seen   map[string]bool
	random *rand.Rand
	ended  bool
}

// apart are requests that a server sends for itself, at any time: they are no step of its work.
var apart = regexp.MustCompile(`/(leases|events|subjectaccessreviews|tokenreviews)\b`)

// othersKilled is of how many of the other writes one is killed at.
const othersKilled = 4

// killsAtWrites kills a server at its writes, as the flag says, until stop.
func (w *world) killsAtWrites(s *server) *killer {
	k := &killer{server: s, world: w, seen: map[string]bool{}, random: rand.New(rand.NewPCG(*seed, 0))}
	rule := &faultproxy.Rule{Action: faultproxy.Pass, Method: faultproxy.Writes, But: apart}
	if *kill == "before" {
		rule.Before = k.at
	} else {
		rule.After = k.at
	}
	w.faults.set(rule)
	return k
}

// at is called at a write. It reports whether the server was killed.
func (k *killer) at(q *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	what := q.Method + " " + q.URL.Path
	known := k.seen[what]
	k.seen[what] = true
	if k.ended || known && k.random.IntN(othersKilled) > 0 {
		return false
	}
	k.world.kills = append(k.world.kills, what)
	_ = k.server.Process.Kill()
	_ = k.server.Wait()
	again := exec.Command(k.server.Path, k.server.Args[1:]...)
	again.Stdout, again.Stderr, again.Env = k.server.Stdout, k.server.Stderr, k.server.Env
	fmt.Fprintf(k.server.log, "killed at %s\n", what)
	if err := again.Start(); err != nil {
		fmt.Fprintf(k.server.log, "not started again: %v\n", err)
		return true
	}
	k.server.Cmd = again
	return true
}

// stop ends it. It reports whether the server may have been started again a moment ago.
func (k *killer) stop() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	return true
}

// printKills prints at which writes servers were killed, with which one can do it again.
func (w *world) printKills(env *testscript.Env) {
	if t, is := env.T().(testing.TB); is && *kill != "" {
		t.Logf("killed %s %d writes, seed %d:\n%s", *kill, len(w.kills), *seed, strings.Join(w.kills, "\n"))
	}
}
