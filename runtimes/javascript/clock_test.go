package javascript

import (
	"testing"

	"metascript/engine"
)

// The clock shows the time of the request.
func TestTheClockShowsNow(t *testing.T) {
	const script = `function sync({now}) { return {date: new Date(), same: Date.now() === new Date(now).getTime()}; }`
	got, err := call(t, script, map[string]any{"now": "2026-01-02T15:04:05Z"}, engine.Limits{})
	if err != nil || got["date"] != "2026-01-02T15:04:05.000Z" || got["same"] != true {
		t.Errorf("%v, error %v", got, err)
	}
}
