package jsonnet_test

import (
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/runtimes/jsonnet"
)

func TestConformance(t *testing.T) {
	enginetest.Run(t, engine.Jsonnet, jsonnet.New())
}

func TestConformancePacked(t *testing.T) {
	enginetest.RunPacked(t, engine.Jsonnet, jsonnet.New())
}

func TestConformanceRecorded(t *testing.T) {
	enginetest.RunRecorded(t, engine.Jsonnet, jsonnet.New())
}
