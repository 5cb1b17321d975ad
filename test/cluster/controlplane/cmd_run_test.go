package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRunEndsBySignal(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady-1,steady-2", nil, "run")
	first, second := te.next(), te.next()
	wantExists(t, run.kubeconfig(), true)
	run.cmd.Process.Signal(syscall.SIGTERM)
	run.end(0)
	first.awaitEnd()
	second.awaitEnd()
	run.wantNoFiles()
}

func TestRunEndsWithStdin(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady", nil, "run", "--until-eof")
	component := te.next()
	run.kubeconfig()
	run.stdin.Close()
	run.end(0)
	component.awaitEnd()
	run.wantNoFiles()
}

func TestRunIgnoresStdin(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady", nil, "run")
	run.stdin.Close()
	run.kubeconfig()
	run.cmd.Process.Signal(syscall.SIGTERM)
	run.end(0)
}

func TestRunKillsComponentThatIgnoresSIGTERM(t *testing.T) {
	te := newTether(t)
	run := te.launch("stubborn,steady", nil, "run")
	stubborn, steady := te.next(), te.next()
	run.kubeconfig()
	run.cmd.Process.Signal(syscall.SIGTERM)
	run.end(0)
	stubborn.awaitEnd()
	steady.awaitEnd()
	run.wantNoFiles()
}

func TestRunEndsDuringStart(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady,mute", nil, "run")
	steady, mute := te.next(), te.next()
	run.cmd.Process.Signal(syscall.SIGTERM)
	run.end(1)
	run.wantStderr("interrupted before the cluster was ready")
	steady.awaitEnd()
	mute.awaitEnd()
	run.wantNoFiles()
}

func TestRunFailsWhenComponentEndsAtOnce(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady,quits", nil, "run")
	steady, quits := te.next(), te.next()
	run.end(1)
	run.wantStderr("quits: ended: exit status 3", "| no such port")
	steady.awaitEnd()
	quits.awaitEnd()
	run.wantNoFiles()
}

func TestRunFailsWhenComponentIsNeverReady(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady,mute", []string{envTimeout + "=1s"}, "run")
	run.end(1)
	run.wantStderr(": not ready in time, last error: ", "last lines of ")
	te.next().awaitEnd()
	run.wantNoFiles()
}

func TestRunFailsWhenComponentEndsLater(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady-1,steady-2", nil, "run")
	first, second := te.next(), te.next()
	run.kubeconfig()
	syscall.Kill(first.pid, syscall.SIGKILL)
	run.end(1)
	run.wantStderr("steady-1: ended: signal: killed")
	second.awaitEnd()
	run.wantNoFiles()
}

func TestRunFailsWhenComponentCannotStart(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady", []string{envExecutable + "=1"}, "run")
	run.end(1)
	run.wantStderr("steady: start: ", "no such file")
	run.wantNoFiles()
}

func TestRunKeepsNamedFolder(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "of the user"), nil, 0o600)
	te := newTether(t)
	run := te.launch("steady", nil, "run", "--dir", dir)
	if got, want := run.kubeconfig(), filepath.Join(dir, "kubeconfig"); got != want {
		t.Errorf("kubeconfig is %s, want %s", got, want)
	}
	second := te.launch("steady", nil, "run", "--dir", dir)
	second.end(1)
	second.wantStderr("another launcher runs a cluster there")
	run.cmd.Process.Signal(syscall.SIGTERM)
	run.end(0)
	wantExists(t, filepath.Join(dir, "kubeconfig"), false)
	wantExists(t, filepath.Join(dir, "state"), false)
	wantExists(t, filepath.Join(dir, "logs", "steady.log"), true)
	wantExists(t, filepath.Join(dir, "of the user"), true)
}

func TestRunUsesForeignCluster(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady", []string{"KUBECONFIG=a/config:/b"}, "run", "--until-eof")
	path := run.kubeconfig()
	run.stdin.Close()
	run.end(0)
	te.none()
	if !strings.HasSuffix(path, "/a/config:/b") {
		t.Errorf("printed %s", path)
	}
}

func TestRunFailsWhenForeignClusterIsUnavailable(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady", []string{"KUBECONFIG=/config", envForeign + "=1"}, "run")
	run.end(1)
	run.wantStderr("the cluster of /config is not ready", "connection refused")
	te.none()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"start"}, {"run", "now"}, {"up", "--until-eof"}} {
		err := new(Launcher).Run(t.Context(), args)
		if err == nil || !strings.Contains(err.Error(), "usage:") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
