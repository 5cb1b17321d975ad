package throttle

import (
	"testing"
	"time"

	"metascript/controller/inputs"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
)

func TestEndReportsRepeatedWrites(t *testing.T) {
	update := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data"}}
	other := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("d", nil), Differs: plan.Path{"data"}}
	create := plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap("c", nil)}
	status := plan.Op{Verb: plan.UpdateStatus, Object: objecttest.Widget(nil)}
	some, follows := inputs.Changes{Others: true}, inputs.Changes{Ours: true}
	for _, c := range []struct {
		name  string
		every time.Duration
		round func(i int) ([]plan.Op, inputs.Changes)
		told  string
	}{
		{"a child", time.Millisecond, always(inputs.Changes{}, update), "data of ConfigMap default/c"},
		{"the status", time.Millisecond, always(inputs.Changes{}, status), "status"},
		{"the status, beside children that change one by one", time.Millisecond, func(i int) ([]plan.Op, inputs.Changes) {
			one := object.Copy(update.Object)
			one.SetName(string(rune('a' + i)))
			return []plan.Op{{Verb: plan.Update, Object: one, Differs: update.Differs}, status}, inputs.Changes{}
		}, ""},
		{"children that are made one by one", time.Millisecond, always(inputs.Changes{}, create, status), ""},
		{"a child, but slowly", 2 * time.Second, always(inputs.Changes{}, update), ""},
		{"a child, with a pause", time.Millisecond, func(i int) ([]plan.Op, inputs.Changes) {
			if i == ChurnLimit/2 {
				return nil, inputs.Changes{}
			}
			return []plan.Op{update}, inputs.Changes{}
		}, ""},
		{"two in turns", time.Millisecond, func(i int) ([]plan.Op, inputs.Changes) { return [][]plan.Op{{update}, {other}}[i%2], inputs.Changes{} }, ""},
		{"a child that shows what somebody else changes", time.Millisecond, always(some, update), ""},
		{"the status that shows what somebody else changes", time.Millisecond, always(some, status), ""},
		{"the status that shows what becomes of the children", time.Millisecond, always(follows, status), ""},
		{"a child of which others write the status", time.Millisecond, always(follows, update), "data of ConfigMap default/c"},
		{"the status, a few times for each change of somebody else", time.Millisecond, func(i int) ([]plan.Op, inputs.Changes) {
			return []plan.Op{status}, inputs.Changes{Others: i%(churnAllowed+1) == 0}
		}, ""},
		{"the status, many times for each change of somebody else", time.Millisecond, func(i int) ([]plan.Op, inputs.Changes) {
			return []plan.Op{status}, inputs.Changes{Others: i == 40}
		}, "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, now, told := &Churn{}, time.Now(), ""
			for i := range churnUnwatched + ChurnLimit + 2*churnAllowed {
				ops, changes := c.round(i)
				for _, op := range ops {
					p.Note(op, op.Verb != plan.UpdateStatus)
				}
				now = now.Add(c.every)
				if often := p.End(objecttest.Widget(nil), changes, now); often != "" {
					told += often
				}
			}
			if told != c.told {
				t.Errorf("reported %q, want %q", told, c.told)
			}
			if _, rests := p.Delay(now); rests != (c.told != "") {
				t.Errorf("it rests: %t", rests)
			}
		})
	}
}

// always returns the same in each round.
func always(changes inputs.Changes, ops ...plan.Op) func(int) ([]plan.Op, inputs.Changes) {
	return func(int) ([]plan.Op, inputs.Changes) { return ops, changes }
}

// Reconciles that follow changes of somebody else for long have a pace, and no loop.
func TestPace(t *testing.T) {
	p, now := &Churn{}, time.Now()
	for range churnUnwatched + ChurnLimit + 1 {
		p.Note(plan.Op{Verb: plan.UpdateStatus, Object: objecttest.Widget(nil)}, false)
		p.End(objecttest.Widget(nil), inputs.Changes{Others: true}, now)
	}
	if wait, loops := p.Delay(now); wait != churnPace || loops {
		t.Errorf("it waits %s, because of a loop: %t", wait, loops)
	}
}

func TestNewGenerationResetsChurn(t *testing.T) {
	update := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data"}}
	p, now := &Churn{}, time.Now()
	for i := range 3 * ChurnLimit {
		p.Note(update, true)
		parent := objecttest.Widget(func(o *object.Object) { o.SetGeneration(int64(1 + i/(ChurnLimit-1))) })
		if often := p.End(parent, inputs.Changes{}, now); often != "" {
			t.Fatalf("round %d: reported %s", i, often)
		}
	}
}
