package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// scriptOf returns a script of a tenant.
func scriptOf(tenant, text string) Script {
	s := fakeScript(text)
	s.Tenant, s.Owner = tenant, "CompositeController/"+tenant
	return s
}

// envOf returns the environment of a call of scriptOf.
func envOf(tenant string) Env { return Env{Tenant: tenant, Owner: "CompositeController/" + tenant} }

// A script is compiled once for each tenant, so that the time does not tell a tenant that another has the same script.
func TestTenantsDoNotSharePrograms(t *testing.T) {
	e, n := newCounting(8, func(context.Context) error { return nil })
	programs := map[string]Program{}
	for i, tenant := range []string{"", "a", "b"} {
		programs[tenant] = mustCompile(t, e, scriptOf(tenant, "same"))
		other := scriptOf(tenant, "same")
		other.Owner = "DecoratorController/another"
		if p := mustCompile(t, e, other); p != programs[tenant] || n.Load() != int32(i+1) {
			t.Errorf("tenant %q: %d compilations, want one for each tenant, which its owners share", tenant, n.Load())
		}
	}
	if programs["a"] == programs["b"] || programs[""] == programs["a"] {
		t.Error("two tenants have the same program")
	}
}

// A tenant does not wait for another that compiles the same script, and not for less time either.
func TestTenantsDoNotShareRunningCompilations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e, n := newCounting(8, nil)
		e.runtimes[fakeLanguage] = fake{compile: func(_ context.Context, s Script, _ Limits) error {
			n.Add(1)
			if s.Tenant == "a" {
				<-block
			}
			return nil
		}}
		var first sync.WaitGroup
		first.Go(func() { mustCompile(t, e, scriptOf("a", "same")) })
		synctest.Wait()
		mustCompile(t, e, scriptOf("b", "same"))
		if n.Load() != 2 {
			t.Errorf("%d compilations began, want 2", n.Load())
		}
		close(block)
		first.Wait()
	})
}

// A text whose compilation timed out is refused only for the tenant who compiled it.
func TestTimedOutCompileIsNotRefusedForOthers(t *testing.T) {
	var began atomic.Int64
	e := newFakeEngine(fake{compile: func(ctx context.Context, s Script, l Limits) error {
		began.Add(1)
		<-ctx.Done()
		return Stopped(ctx, Pos{File: "main"}, l)
	}})
	for _, tenant := range []string{"a", "b", "a", ""} {
		_, err := e.Compile(t.Context(), scriptOf(tenant, "slow"), Limits{Timeout: time.Millisecond})
		wantKind(t, err, KindTimeout)
	}
	if n := began.Load(); n != 3 {
		t.Errorf("%d compilations began, want one for each tenant", n)
	}
}

// A text that cannot be stopped uses one CPU for each tenant whose call it is. The calls of other tenants are not refused, neither
// while it runs nor afterwards, and their errors do not mention it.
func TestRunawayAffectsItsTenantOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e := newFakeEngine(fake{call: func(_ context.Context, fn string, _ map[string]any, _ Env) (map[string]any, error) {
			if fn == "block" {
				<-block
			}
			return map[string]any{}, nil
		}})
		call := func(tenant, fn string) error {
			_, err := mustCompile(t, e, scriptOf(tenant, "same")).Call(t.Context(), fn, nil, envOf(tenant))
			return err
		}
		wantKind(t, call("a", "block"), KindTimeout)
		for _, refused := range []string{"while it runs", "afterwards"} {
			for range 3 {
				wantKind(t, call("a", "sync"), KindTimeout)
			}
			for _, tenant := range []string{"b", ""} {
				if err := call(tenant, "sync"); err != nil {
					t.Errorf("%s, tenant %q: %v", refused, tenant, err)
				}
			}
			if refused == "while it runs" {
				if all := e.Runaways(); len(all) != 1 || all[0].Tenant != "a" || all[0].Owner != "CompositeController/a" {
					t.Errorf("runaways: %+v, want one of tenant a", all)
				}
				time.Sleep(runawayAfter)
				close(block)
				synctest.Wait()
			}
		}
	})
}

// Tenants take turns, and in each turn of a tenant the next of its owners.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		_ = s.acquire(t.Context(), ownerKey{}, false)
		var order []string
		var waiters sync.WaitGroup
		for _, owner := range []ownerKey{{"a", "1"}, {"a", "1"}, {"a", "2"}, {"a", "3"}, {"b", "1"}, {"b", "1"}, {"c", "1"}} {
			waiters.Go(func() {
				_ = s.acquire(t.Context(), owner, false)
				order = append(order, owner.tenant+owner.name) // guarded by the slot
				s.release()
			})
			synctest.Wait() // until it waits
		}
		if !s.wanted(ownerKey{"a", "1"}) || !s.wanted(ownerKey{"d", "1"}) {
			t.Error("others wait, but no slot is wanted")
		}
		s.release()
		waiters.Wait()
		if want := []string{"a1", "b1", "c1", "a2", "b1", "a3", "a1"}; !slices.Equal(order, want) {
			t.Errorf("slots were given in the order %v, want %v", order, want)
		}
		if !s.others.empty() || s.others.turns.Len() != 0 || s.free != 1 || s.wanted(ownerKey{}) {
			t.Errorf("left over: %d waiters, %d turns, %d free", s.others.len(), s.others.turns.Len(), s.free)
		}
	})
}

// Owners of two tenants are others for each other, also if their names are equal.
func TestOwnerOfAnotherTenantIsAnother(t *testing.T) {
	var q turnQueue
	waiter := q.add(ownerKey{"a", "x"}.path(), make(chan struct{}))
	for owner, want := range map[ownerKey]bool{{"a", "x"}: false, {"b", "x"}: true, {"a", "y"}: true, {"", "x"}: true} {
		if got := q.another(owner.path()); got != want {
			t.Errorf("%+v: another owner waits: %v, want %v", owner, got, want)
		}
	}
	q.remove(ownerKey{"a", "x"}.path(), waiter)
	if q.another(ownerKey{"b", "x"}.path()) || !q.empty() {
		t.Error("nobody waits")
	}
}

// A tenant with a thousand controllers delays the only controller of another tenant by a few short slices, and not by one for
// each of its controllers.
func TestTenantWithManyOwnersDelaysAnotherLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		many, one := mustCompile(t, e, scriptOf("many", "x")), mustCompile(t, e, scriptOf("one", "x"))
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for i := range 1000 {
			calls.Go(func() {
				for ctx.Err() == nil {
					_, _ = many.Call(ctx, "20ms", nil, Env{Tenant: "many", Owner: fmt.Sprint(i)})
				}
			})
		}
		time.Sleep(time.Second)
		for range 10 {
			start := time.Now()
			if _, err := one.Call(t.Context(), "1ms", nil, envOf("one")); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > 4*shortSlice {
				t.Errorf("took %s", took)
			}
		}
		cancel()
		calls.Wait()
	})
}
