package jsontree

import "io"

// A compact reader returns JSON with at most one blank between two tokens. A json.Decoder that waits for the next token
// reads all blanks before it again whenever more have arrived, so its time would grow with the square of their number.
type compact struct {
	r       io.Reader
	quoted  bool // the next character is within a string
	escaped bool // and after a backslash
	blank   bool // the last character was a blank between tokens
}

// Read implements io.Reader.
func (c *compact) Read(p []byte) (int, error) {
	for {
		n, err := c.r.Read(p)
		kept := c.compact(p[:n])
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

// compact moves the bytes of p that stay to its front, and returns their number.
func (c *compact) compact(p []byte) (kept int) {
	for _, b := range p {
		if c.drops(b) {
			continue
		}
		p[kept] = b
		kept++
	}
	return kept
}

// drops reports whether the next character is dropped.
func (c *compact) drops(b byte) bool {
	switch {
	case c.escaped:
		c.escaped = false
	case b == '"':
		c.quoted = !c.quoted
	case c.quoted:
		c.escaped = b == '\\'
	case b == ' ' || b == '\t' || b == '\n' || b == '\r':
		drop := c.blank
		c.blank = true
		return drop
	}
	c.blank = false
	return false
}
