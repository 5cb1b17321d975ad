package engine

import "sync"

// A boundedLog passes messages to emit, up to a total number of bytes, and none after close.
type boundedLog struct {
	mu      sync.Mutex    // guards the fields below; emit is called with it locked
	emit    func(Message) // nil: messages are dropped
	left    int64         // how many more bytes are allowed
	attempt int           // the number of the latest attempt, from 1
	emitted int           // messages that were passed to emit, over all attempts
	skip    int           // messages of this attempt that an earlier attempt has passed to emit
}

const (
	// messageCost is added to the size of each message, so that the number of empty ones is limited as well.
	messageCost = 16
	// truncated is the last message if there are too many; there is always room for it.
	truncated = "… log truncated"
)

func newBoundedLog(emit func(Message), limit int64) *boundedLog {
	return &boundedLog{emit: emit, left: limit - messageCost - int64(len(truncated))}
}

// begin returns the Log function of an attempt. Later messages of earlier attempts are dropped. A script prints the same in
// each attempt, so messages that an earlier attempt has passed to emit are dropped too.
func (l *boundedLog) begin() func(Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt++
	attempt := l.attempt
	l.skip = l.emitted
	return func(m Message) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.attempt == attempt {
			l.add(m)
		}
	}
}

// add passes a message of the latest attempt to emit. The caller holds mu.
func (l *boundedLog) add(m Message) {
	if l.emit == nil {
		return
	}
	if l.skip > 0 {
		l.skip--
		return
	}
	l.emitted++
	l.left -= messageCost
	if int64(len(m.Text)) > l.left {
		if l.left > 0 {
			m.Text = Clip(m.Text, int(l.left))
			l.emit(m)
		}
		l.emit(Message{Level: Warn, Pos: m.Pos, Text: truncated})
		l.emit = nil
		return
	}
	l.left -= int64(len(m.Text))
	l.emit(m)
}

// close makes the log drop later messages. A call that was abandoned still runs, but its caller does not expect messages.
func (l *boundedLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit = nil
}
