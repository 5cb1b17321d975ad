package controlplane

import (
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// up runs the command up and returns the path of the kubeconfig that it printed.
func (te *tether) up(dir string, env ...string) string {
	te.t.Helper()
	up := te.launch("steady", env, "up", "--dir", dir)
	kubeconfig := up.kubeconfig()
	up.end(0)
	return kubeconfig
}

// down runs the command down. Tests also call it to stop the cluster after a failure.
func (te *tether) down(dir string, env ...string) *launcherProcess {
	te.t.Helper()
	down := te.launch("steady", env, "down", "--dir", dir)
	down.end(0)
	return down
}

// holder returns the process id of the launcher in the background, or 0.
func (te *tether) holder(dir string) int {
	te.t.Helper()
	pid, err := folder(dir).holder()
	if err != nil {
		te.t.Fatal(err)
	}
	return pid
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

func TestUpAndDownTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made by up")
	te := newTether(t)
	kubeconfig := te.up(dir)
	component, holder := te.next(), te.holder(dir)
	wantExists(t, kubeconfig, true)

	if again := te.up(dir); again != kubeconfig {
		t.Errorf("the second up printed %s, want %s", again, kubeconfig)
	}
	te.none()
	if again := te.holder(dir); again != holder {
		t.Errorf("after the second up, the launcher is process %d, want %d", again, holder)
	}

	te.down(dir)
	component.awaitEnd()
	wantExists(t, kubeconfig, false)
	te.down(dir).wantStderr("no cluster is running")
}

func TestUpAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	defer te.down(dir)
	first := te.launch("steady", nil, "up", "--dir", dir)
	second := te.launch("steady", nil, "up", "--dir", dir)
	if a, b := first.kubeconfig(), second.kubeconfig(); a != b {
		t.Errorf("the commands printed %s and %s, want the same path", a, b)
	}
	first.end(0)
	second.end(0)
	te.next()
	te.none()
}

func TestUpReportsWhyTheLauncherFailed(t *testing.T) {
	te := newTether(t)
	up := te.launch("steady,quits", nil, "up", "--dir", t.TempDir())
	up.end(1)
	up.wantStderr("quits: ended: exit status 3", "| no such port")
	te.next().awaitEnd()
}

func TestUpInterruptedStartsNothing(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	up := te.launch("steady,mute", nil, "up", "--dir", dir)
	steady, mute := te.next(), te.next()
	up.cmd.Process.Signal(syscall.SIGTERM)
	up.end(1)
	steady.awaitEnd()
	mute.awaitEnd()
	if pid := te.holder(dir); pid != 0 {
		t.Errorf("launcher %d still runs", pid)
	}
}

func TestUpNoticesThatTheClusterDoesNotAnswer(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	te.up(dir)
	defer te.down(dir)
	up := te.launch("steady", []string{envForeign + "=1", envTimeout + "=1s"}, "up", "--dir", dir)
	up.end(1)
	up.wantStderr("up: the cluster in "+dir, "not ready in time")
}

func TestForeignClusterIsNotChanged(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	if got := te.up(dir, "KUBECONFIG=/config"); got != "/config" {
		t.Errorf("printed %s", got)
	}
	te.down(dir, "KUBECONFIG=/config").wantStderr("no cluster is running")
	te.none()
}

// If the user exports the line that up printed, up and down must do the same
// as without it.
func TestExportedKubeconfigOfTheClusterIsNotForeign(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	exported := "KUBECONFIG=" + te.up(dir)
	component := te.next()
	te.down(dir, exported)
	component.awaitEnd()
	te.up(dir, exported)
	component = te.next()
	te.down(dir, exported)
	component.awaitEnd()
}

func TestDownAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	te.up(dir)
	component := te.next()
	var downs sync.WaitGroup
	for range 3 {
		downs.Go(func() { te.launch("steady", nil, "down", "--dir", dir).cmd.Wait() })
	}
	downs.Wait()
	component.awaitEnd()
	if pid := te.holder(dir); pid != 0 {
		t.Errorf("launcher %d still runs", pid)
	}
}

func TestUpAfterEndingLauncher(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	run := te.launch("stubborn", nil, "run", "--dir", dir)
	stubborn := te.next()
	run.kubeconfig()
	up := te.launch("steady", []string{envForeign + "=1"}, "up", "--dir", dir)
	run.cmd.Process.Signal(syscall.SIGTERM)
	run.end(0)
	stubborn.awaitEnd()
	up.kubeconfig()
	up.end(0)
	te.next()
	te.down(dir)
}
