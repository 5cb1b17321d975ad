package simulation

import (
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
)

// fight notes n writes of two controllers to one object, with a pause after each.
func fight(m *moment, o *object.Object, n int, pause time.Duration) {
	for i := range n {
		m.wrote(observe.About{Kind: "CompositeController", Controller: []string{"one", "two"}[i%2]}, o)
		time.Sleep(pause)
	}
}

func TestMomentThatDoesNotEnd(t *testing.T) {
	a := objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}`)
	other := objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}`)
	synctest.Test(t, func(t *testing.T) {
		m := newMoment()
		go func() {
			fight(m, other, 20, 0)
			fight(m, a, 10_000, time.Millisecond)
		}()
		const want = "the writes at 00:00:00 do not end, so that the simulated time hardly passes: ConfigMap default/a was written 151 times by CompositeController one and 150 times by CompositeController two; let only one controller write an object, and let it return the same each time"
		for range 2 {
			if err := m.sleep(time.Hour); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
		if passed := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); passed > time.Second {
			t.Errorf("the error comes after %s", passed)
		}
		time.Sleep(time.Minute) // until the fight ends
	})
}

func TestMomentsThatEnd(t *testing.T) {
	a := objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	synctest.Test(t, func(t *testing.T) {
		m := newMoment()
		go func() {
			fight(m, a, 300, 0)
			time.Sleep(time.Second)
			fight(m, a, 300, 0)
			time.Sleep(time.Second)
			fight(m, a, 1000, 10*time.Millisecond)
		}()
		if err := m.sleep(time.Minute); err != nil {
			t.Error(err)
		}
	})
}
