package controller

import (
	"slices"
	"testing"

	"metascript/controller/build"
	"metascript/controller/throttle"
)

func TestRunsAsWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(m *managed)
		want  bool
	}{
		{"it runs", func(*managed) {}, true},
		{"it is stopped", func(m *managed) { m.active.Store(nil) }, false},
		{"it is edited", func(m *managed) { m.active.Load().Current().Loaded.Generation = 1 }, false},
		{"a script is missing", func(m *managed) { m.active.Load().Current().Loaded.Built.Missing = "hooks.sync.script" }, false},
		{"it may be given up", func(m *managed) {
			m.active.Load().Current().Canary = throttle.NewCanary(0, nil, func() int { return 1 }, func() {})
		}, false},
		{"it is another object", func(m *managed) { m.uid = "2" }, false},
	} {
		s, o := newServer(t), controllerObject("1")
		o.SetGeneration(2)
		m, _ := s.records.open(o)
		run(t, m, "v", throttle.NoCanary())
		m.active.Load().Current().Loaded.Generation = 2
		c.setUp(m)
		if got := s.runsAsWritten(o); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if newServer(t).runsAsWritten(controllerObject("1")) {
		t.Error("a version that was never loaded runs as written")
	}
}

func TestLastKnownGoodVersionIsInUse(t *testing.T) {
	s := newServer(t)
	m, _ := s.records.open(controllerObject("1"))
	s.records.open(controllerObject("1"))
	m.lastKnownGood.Store(&goodVersion{Candidate: build.Candidate{Identity: "v"}})
	run(t, m, "w", nil)
	var used []string
	s.scriptsInUse(func(digest string) { used = append(used, digest) })
	if !slices.Equal(used, []string{"v"}) {
		t.Errorf("in use are %q", used)
	}
}
