package javascript

import (
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
)

func TestConformance(t *testing.T) {
	enginetest.Run(t, engine.JavaScript, New())
}

func TestConformanceTypeScript(t *testing.T) {
	enginetest.Run(t, engine.TypeScript, NewTypeScript())
}

func TestConformancePacked(t *testing.T) {
	enginetest.RunPacked(t, engine.JavaScript, New())
}

func TestConformanceRecorded(t *testing.T) {
	enginetest.RunRecorded(t, engine.JavaScript, New())
}
