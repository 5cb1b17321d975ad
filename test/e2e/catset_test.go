package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCatSet builds the webhook of the example catset and runs it; its address is $WEBHOOK.
func cmdCatSet(ts *testscript.TestScript, _ bool, _ []string) {
	folder := filepath.Join(ts.Getenv("ROOT"), "examples", "catset")
	program := ts.MkAbs("catset-webhook")
	build := exec.Command("go", "build", "-o", program, "./webhook")
	build.Dir, build.Stderr = folder, ts.Stderr()
	ts.Check(build.Run())

	server := exec.Command(program, "-listen", "127.0.0.1:0", filepath.Join(folder, "sync.js"))
	log, err := os.Create(ts.MkAbs("catset.log"))
	ts.Check(err)
	server.Stderr = log
	stdout, err := server.StdoutPipe()
	ts.Check(err)
	ts.Check(server.Start())
	ts.Defer(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		log.Close()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	ts.Check(err)
	ts.Setenv("WEBHOOK", strings.TrimSpace(address))
}
