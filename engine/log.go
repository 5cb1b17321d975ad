package engine

import "sync"

// A boundedLog hands on messages up to a number of bytes in all, and none after close.
type boundedLog struct {
	mu      sync.Mutex
	emit    func(Message)
	left    int64
	attempt int // the latest one
	seen    int // messages that were taken, over all attempts
	skip    int // messages of this attempt that an earlier one has given already
}

const (
	// messageCost is what a message counts besides its text, so that empty ones are bounded as well.
	messageCost = 16
	// truncated is the last message when there are more than may be; room is kept for it.
	truncated = "… log truncated"
)

func newBoundedLog(emit func(Message), limit int64) *boundedLog {
	return &boundedLog{emit: emit, left: limit - messageCost - int64(len(truncated))}
}

// begin returns where an attempt's messages go. What earlier attempts say from now on is dropped; and since a script
// says the same things each time, so is what they have said before, when it comes again.
func (l *boundedLog) begin() func(Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt++
	mine := l.attempt
	l.skip = l.seen
	return func(m Message) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.attempt == mine {
			l.add(m)
		}
	}
}

func (l *boundedLog) add(m Message) {
	if l.emit == nil {
		return
	}
	if l.skip > 0 {
		l.skip--
		return
	}
	l.seen++
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

// close makes sure that what an abandoned call prints reaches no one: its caller has gone on.
func (l *boundedLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit = nil
}
