package process

import (
	"fmt"
	"sync"
	"testing"
	"testing/fstest"

	"metascript/engine"
)

// pidFor returns the process that serves a call.
func pidFor(t testing.TB, p engine.Program, tenant, owner string) int {
	t.Helper()
	answer, err := p.Call(t.Context(), "pid", map[string]any{}, engine.Env{Tenant: tenant, Owner: owner})
	if err != nil {
		t.Error(err)
		return 0
	}
	return int(answer["pid"].(int64))
}

// A call of another tenant ends an idle worker, also if both owners have the same name. It does not use it.
func TestIdleWorkerOfAnotherTenantIsEnded(t *testing.T) {
	pool, e := newPool(t, Options{Workers: 1})
	p := compile(t, e, misbehaving, "")
	seen := map[int]string{}
	for _, tenant := range []string{"a", "", "b", "a"} {
		pid := pidFor(t, p, tenant, "owner")
		if before, found := seen[pid]; found {
			t.Errorf("tenant %q has the process of tenant %q", tenant, before)
		}
		for older := range seen {
			ended(t, older)
		}
		seen[pid] = tenant
		if other := pidFor(t, p, tenant, "another owner"); other != pid {
			t.Errorf("tenant %q: another owner of it has another process", tenant)
		}
		if all := pool.Workers(); len(all) != 1 || all[0] != (Worker{PID: pid, Tenant: tenant, Owner: "another owner"}) {
			t.Errorf("workers: %+v, want one of tenant %q", all, tenant)
		}
	}
}

// When there are as many workers as there may be, an owner gets an idle one of its tenant, though another is idle for longer.
func TestIdleWorkerOfTheTenantIsUsedFirst(t *testing.T) {
	_, e := newPool(t, Options{Workers: 2})
	p := compile(t, e, misbehaving, "")
	b := pidFor(t, p, "b", "1")
	a := pidFor(t, p, "a", "1")
	if got := pidFor(t, p, "a", "2"); got != a {
		t.Error("the owner has not got the worker of its tenant")
	}
	if got := pidFor(t, p, "b", "1"); got != b {
		t.Error("the worker of another tenant was ended for no reason")
	}
}

// More tenants than workers, all at once: no process ever serves two of them, in compilations and in calls.
func TestTenantsNeverShareAProcess(t *testing.T) {
	pool, e := newPool(t, Options{Workers: 2})
	var mu sync.Mutex
	tenantOf := map[int]string{}
	note := func(pid int, tenant string) {
		mu.Lock()
		defer mu.Unlock()
		if before, found := tenantOf[pid]; found && before != tenant {
			t.Errorf("process %d has served tenants %q and %q", pid, before, tenant)
		}
		tenantOf[pid] = tenant
	}
	var calls sync.WaitGroup
	for i := range 6 {
		tenant := fmt.Sprint("tenant ", i)
		for owner := range 2 {
			calls.Go(func() {
				s := engine.Script{
					Language: misbehaving, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(fmt.Sprint(owner))}},
					Tenant: tenant, Owner: fmt.Sprint(owner),
				}
				p, err := e.Compile(t.Context(), s, engine.Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				for range 5 {
					note(pidFor(t, p, tenant, fmt.Sprint(owner)), tenant)
					for _, w := range pool.Workers() {
						note(w.PID, w.Tenant)
					}
				}
			})
		}
	}
	calls.Wait()
	if n := len(pool.Workers()); n > 2 {
		t.Errorf("%d workers, want 2 at most", n)
	}
	if len(tenantOf) < 6 {
		t.Errorf("%d processes served 6 tenants", len(tenantOf))
	}
}
