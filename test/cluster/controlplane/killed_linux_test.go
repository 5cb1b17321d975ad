package controlplane

import (
	"testing"
	"time"
)

func TestKilledLauncherLeavesNoProcess(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady-1,stubborn", nil, "run")
	first, second := te.next(), te.next()
	run.kubeconfig()
	run.cmd.Process.Kill()
	first.awaitEnd()
	second.awaitEnd()
}

func TestLauncherKilledDuringStartLeavesNoProcess(t *testing.T) {
	te := newTether(t)
	run := te.launch("steady,mute", nil, "run")
	first, second := te.next(), te.next()
	run.cmd.Process.Kill()
	first.awaitEnd()
	second.awaitEnd()
}

// awaitRelease waits until a killed launcher has exited. Its child processes can
// exit before it: the kernel kills them when the thread that started them exits.
func (te *tether) awaitRelease(dir string, pid int) {
	te.t.Helper()
	if err := awaitRelease(te.t.Context(), folder(dir), pid, time.Minute); err != nil {
		te.t.Fatal(err)
	}
}

func TestUpAfterKilledLauncher(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	te.up(dir)
	first := te.next()
	holder := te.holder(dir)
	if err := kill(holder); err != nil {
		t.Fatal(err)
	}
	first.awaitEnd()
	te.awaitRelease(dir, holder)
	te.up(dir)
	second := te.next()
	if te.holder(dir) == holder {
		t.Error("the killed launcher still has the lock")
	}
	te.down(dir)
	second.awaitEnd()
}

func TestDownAfterKilledLauncher(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	kubeconfig := te.up(dir)
	component := te.next()
	holder := te.holder(dir)
	if err := kill(holder); err != nil {
		t.Fatal(err)
	}
	component.awaitEnd()
	te.awaitRelease(dir, holder)
	wantExists(t, kubeconfig, true)
	te.down(dir)
	wantExists(t, kubeconfig, false)
}
