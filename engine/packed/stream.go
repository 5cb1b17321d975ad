package packed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxValue is the maximum length of a JSON value that a Stream returns as a whole. API servers store at most a few megabytes.
const maxValue = 64 << 20

// bufferSize is the size of the buffer of a Stream at the beginning. It is enough for most objects.
const bufferSize = 16 << 10

// A Stream reads JSON values from a stream. It returns the text of each value as soon as all of it was read, and does not wait for what
// follows. It finds where values end, and leaves it to [Parse] to check them.
type Stream struct {
	from       io.Reader
	buf        []byte
	start, end int // of what was read, and not returned yet
	scan       scanner
}

// NewStream returns a Stream of what a reader gives.
func NewStream(from io.Reader) *Stream { return &Stream{from: from, buf: make([]byte, bufferSize)} }

// fill reads more. It returns io.EOF at the end of the stream.
func (r *Stream) fill() error {
	if r.start == r.end && len(r.buf) > maxReused {
		r.buf, r.start, r.end = make([]byte, bufferSize), 0, 0
	}
	if r.start > 0 && (r.start == r.end || r.end == len(r.buf)) {
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.start = 0
	}
	if r.end == len(r.buf) {
		if len(r.buf) >= maxValue {
			return fmt.Errorf("a JSON value is larger than %d bytes", maxValue)
		}
		r.buf = slices.Grow(r.buf, len(r.buf))
		r.buf = r.buf[:cap(r.buf)]
	}
	n, err := r.from.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil // an error is returned again by the next Read
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// peek returns the next byte that is not white space. It returns io.EOF if there is none.
func (r *Stream) peek() (byte, error) {
	for {
		for r.start < r.end {
			switch c := r.buf[r.start]; c {
			case ' ', '\t', '\n', '\r':
				r.start++
			default:
				return c, nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// Next returns the text of the next value. It is valid until the next call. The error is io.EOF if the stream ends before it, and
// io.ErrUnexpectedEOF if the stream ends within it.
func (r *Stream) Next() ([]byte, error) {
	if _, err := r.peek(); err != nil {
		return nil, err
	}
	r.scan = scanner{}
	for at := 0; ; {
		n, done := r.scan.value(r.buf[r.start+at : r.end])
		if at += n; done {
			text := r.buf[r.start : r.start+at]
			r.start += at
			return text, nil
		}
		switch err := r.fill(); {
		case err == io.EOF && r.scan.plain():
			text := r.buf[r.start:r.end]
			r.start = r.end
			return text, nil
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
}

// errForm is the error for a stream that is not what is read.
var errForm = errors.New("the JSON text has another form than expected")

// expect reads one of some bytes that are not white space.
func (r *Stream) expect(any string) (byte, error) {
	c, err := r.peek()
	switch {
	case err == io.EOF:
		return 0, io.ErrUnexpectedEOF
	case err != nil:
		return 0, err
	case bytes.IndexByte([]byte(any), c) < 0:
		return 0, fmt.Errorf("%w: %q", errForm, c)
	}
	r.start++
	return c, nil
}

// End returns an error if anything but white space follows.
func (r *Stream) End() error {
	switch c, err := r.peek(); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("%w: %q", errForm, c)
	default:
		return err
	}
}

// Object reads an object, or null. It calls field for each key. field must read the value, with Next, Object or Array.
func (r *Stream) Object(field func(key string, value *Stream) error) error {
	return r.elements('{', '}', func() error {
		text, err := r.Next()
		if err != nil {
			return unexpectedEnd(err)
		}
		var key string
		if err := json.Unmarshal(text, &key); err != nil || text[0] != '"' {
			return fmt.Errorf("%w: %q", errForm, text[:min(len(text), 20)])
		}
		if _, err := r.expect(":"); err != nil {
			return err
		}
		return field(key, r)
	})
}

// Array reads an array, or null. It calls item with the text of each element, which is valid until the call returns.
func (r *Stream) Array(item func(text []byte) error) error {
	return r.elements('[', ']', func() error {
		text, err := r.Next()
		if err != nil {
			return unexpectedEnd(err)
		}
		return item(text)
	})
}

// elements reads an object or an array, whose elements are read by element. null is like one without elements.
func (r *Stream) elements(open, end byte, element func() error) error {
	c, err := r.peek()
	if err != nil {
		return unexpectedEnd(err)
	}
	if c == 'n' {
		text, err := r.Next()
		if err == nil && string(text) != "null" {
			err = fmt.Errorf("%w: %q", errForm, text[:min(len(text), 20)])
		}
		return err
	}
	if _, err := r.expect(string(open)); err != nil {
		return err
	}
	if c, err = r.peek(); err != nil {
		return unexpectedEnd(err)
	}
	if c == end {
		r.start++
		return nil
	}
	for {
		if err := element(); err != nil {
			return unexpectedEnd(err)
		}
		if c, err = r.expect("," + string(end)); err != nil || c == end {
			return err
		}
	}
}

// unexpectedEnd returns the error for a stream that ends within a value.
func unexpectedEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A scanner finds the end of a value, whose text it gets in pieces. The zero value is before a value.
type scanner struct {
	depth    int
	inString bool
	escaped  bool // the last byte was a backslash in a string
	scalar   bool // the value is a number or a word, which ends where something else begins
}

// plain reports whether the value may end with the stream.
func (s *scanner) plain() bool { return s.scalar && s.depth == 0 }

// value scans a piece. It returns how many of its bytes belong to the value, and whether the value has ended.
func (s *scanner) value(piece []byte) (n int, done bool) {
	for i := 0; i < len(piece); i++ {
		if s.inString {
			i += s.text(piece[i:])
			if i == len(piece) {
				return i, false
			}
			s.inString = false // piece[i] is the quote at the end
			if s.depth == 0 {
				return i + 1, true
			}
			continue
		}
		switch c := piece[i]; c {
		case '"':
			if s.plain() {
				return i, true
			}
			s.inString = true
		case '{', '[':
			if s.plain() {
				return i, true
			}
			s.depth++
		case '}', ']':
			if s.depth--; s.depth < 0 {
				return i, true // the end of what contains a scalar, or an error that Parse finds
			}
			if s.depth == 0 {
				return i + 1, true
			}
		case ' ', '\t', '\n', '\r', ',', ':':
			if s.depth == 0 {
				return i, true
			}
		default:
			s.scalar = s.scalar || s.depth == 0
		}
	}
	return len(piece), false
}

// text returns how many bytes of a piece come before the quote that ends a string; all if there is none.
func (s *scanner) text(piece []byte) int {
	for i := 0; i < len(piece); i++ {
		switch c := piece[i]; {
		case s.escaped:
			s.escaped = false
		case c == '"':
			return i
		case c == '\\':
			s.escaped = true
		}
	}
	return len(piece)
}
