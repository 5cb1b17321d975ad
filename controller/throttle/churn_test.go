package throttle

import (
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
)

func TestEndReportsRepeatedWrites(t *testing.T) {
	update := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data"}}
	other := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("d", nil), Differs: plan.Path{"data"}}
	create := plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap("c", nil)}
	status := plan.Op{Verb: plan.UpdateStatus, Object: objecttest.Widget(nil)}
	for _, c := range []struct {
		name  string
		every time.Duration
		round func(i int) []plan.Op
		told  string
	}{
		{"a child", time.Millisecond, func(int) []plan.Op { return []plan.Op{update} }, "data of ConfigMap default/c"},
		{"the status", time.Millisecond, func(int) []plan.Op { return []plan.Op{status} }, "status"},
		{"the status, beside children that change one by one", time.Millisecond, func(i int) []plan.Op {
			one := object.Copy(update.Object)
			one.SetName(string(rune('a' + i)))
			return []plan.Op{{Verb: plan.Update, Object: one, Differs: update.Differs}, status}
		}, ""},
		{"children that are made one by one", time.Millisecond, func(int) []plan.Op { return []plan.Op{create, status} }, ""},
		{"a child, but slowly", 2 * time.Second, func(int) []plan.Op { return []plan.Op{update} }, ""},
		{"a child, with a pause", time.Millisecond, func(i int) []plan.Op {
			if i == ChurnLimit/2 {
				return nil
			}
			return []plan.Op{update}
		}, ""},
		{"two in turns", time.Millisecond, func(i int) []plan.Op { return [][]plan.Op{{update}, {other}}[i%2] }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, now, told := &Churn{}, time.Now(), ""
			for i := range ChurnLimit + 1 {
				for _, op := range c.round(i) {
					p.Note(op, op.Verb != plan.UpdateStatus)
				}
				now = now.Add(c.every)
				if often := p.End(objecttest.Widget(nil), now); often != "" {
					told += often
				}
			}
			if told != c.told {
				t.Errorf("reported %q, want %q", told, c.told)
			}
			if rests := p.Delay(now) > 0; rests != (c.told != "") {
				t.Errorf("it rests: %t", rests)
			}
		})
	}
}

func TestNewGenerationResetsChurn(t *testing.T) {
	update := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data"}}
	p, now := &Churn{}, time.Now()
	for i := range 3 * ChurnLimit {
		p.Note(update, true)
		parent := objecttest.Widget(func(o *object.Object) { o.SetGeneration(int64(1 + i/(ChurnLimit-1))) })
		if often := p.End(parent, now); often != "" {
			t.Fatalf("round %d: reported %s", i, often)
		}
	}
}
