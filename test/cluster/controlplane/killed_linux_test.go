package controlplane

import "testing"

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
	te.up(dir)
	second := te.next()
	if te.holder(dir) == holder {
		t.Error("the killed launcher still holds the lock")
	}
	te.down(dir)
	second.awaitEnd()
}

func TestDownAfterKilledLauncher(t *testing.T) {
	dir := t.TempDir()
	te := newTether(t)
	kubeconfig := te.up(dir)
	component := te.next()
	if err := kill(te.holder(dir)); err != nil {
		t.Fatal(err)
	}
	component.awaitEnd()
	wantExists(t, kubeconfig, true)
	te.down(dir)
	wantExists(t, kubeconfig, false)
}
