package endpoints

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are those to one address. If there are too many, a new one takes the place of the one that has had no request for the longest
// time. A listener that waits instead until one ends would let whoever keeps connections open shut out the others, such as the health
// probes: the server would be restarted.
type connections struct {
	most int
	long bool // one with a request is not closed

	mu  sync.Mutex // guards all
	all map[net.Conn]connection
}

// A connection is the state of one.
type connection struct {
	since  time.Time // it has this state
	active bool      // it has a request
}

// changed implements http.Server.ConnState.
func (c *connections) changed(of net.Conn, to http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch to {
	case http.StateNew:
		if len(c.all) < c.most || c.makeRoom() {
			c.all[of] = connection{since: time.Now()}
		} else {
			_ = of.Close() // its server notices it
		}
	case http.StateActive, http.StateIdle:
		if _, open := c.all[of]; open {
			c.all[of] = connection{since: time.Now(), active: to == http.StateActive}
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.all, of)
	}
}

// makeRoom closes a connection, and returns false if all have requests that may take long.
func (c *connections) makeRoom() bool {
	var oldest net.Conn
	var found connection
	for of, now := range c.all {
		switch {
		case now.active && c.long:
		case oldest == nil, found.active && !now.active, found.active == now.active && now.since.Before(found.since):
			oldest, found = of, now
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.all, oldest)
	_ = oldest.Close() // its server notices it
	return true
}
