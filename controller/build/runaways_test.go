package build

import (
	"testing"

	"metascript/controller/spec"
	"metascript/engine"
)

func TestRunawaysAreCountedPerController(t *testing.T) {
	s := &Sandbox{Runaways: func() []engine.Runaway {
		return []engine.Runaway{{Owner: "CompositeController/a"}, {Owner: "CompositeController/a"}, {Owner: "DecoratorController/a"}}
	}}
	n := s.countRunaways()
	if n[spec.ID{Kind: "CompositeController", Name: "a"}] != 2 || n[spec.ID{Kind: "DecoratorController", Name: "a"}] != 1 || len(n) != 2 {
		t.Errorf("counted %v", n)
	}
}
