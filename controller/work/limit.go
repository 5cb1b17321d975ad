package work

import "sync"

// A Limit limits how many calls run at the same time for each tenant, so that a tenant with slow calls leaves workers for the
// others. The tenant "" is not limited. It is safe for concurrent use.
type Limit struct {
	Most int // for each tenant

	mu  sync.Mutex // guards now
	now map[string]int
}

// Run calls f. If Most calls run for the tenant already, it calls later in place of f.
func (l *Limit) Run(tenant string, f, later func()) {
	l.mu.Lock()
	if tenant != "" && l.now[tenant] >= l.Most {
		l.mu.Unlock()
		later()
		return
	}
	if l.now == nil {
		l.now = map[string]int{}
	}
	l.now[tenant]++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.now[tenant]--; l.now[tenant] == 0 {
			delete(l.now, tenant)
		}
	}()
	f()
}
