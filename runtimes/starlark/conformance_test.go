package starlark

import (
	"testing"

	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) { enginetest.Run(t, engine.Starlark, New()) }

func TestConformancePacked(t *testing.T) { enginetest.RunPacked(t, engine.Starlark, New()) }

func TestConformanceRecorded(t *testing.T) { enginetest.RunRecorded(t, engine.Starlark, New()) }
