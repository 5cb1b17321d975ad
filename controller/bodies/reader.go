package bodies

import (
	"cmp"
	"fmt"
	"io"
)

// A Reader reads a response body up to a limit. Reading more is an error.
type Reader struct {
	r     io.Reader
	read  int64
	left  int64
	limit int64
	over  error // the error for a larger body; nil stands for TooLarge(limit)
	err   error // the last error other than io.EOF
}

// NewReader returns a Reader of at most limit bytes.
func NewReader(r io.Reader, limit int64) *Reader { return &Reader{r: r, left: limit, limit: limit} }

// TooLarge returns the error for a body of more than limit bytes.
func TooLarge(limit int64) error {
	return fmt.Errorf("the answer is larger than %d bytes: return less, or raise maxResponseSize of the webhook", limit)
}

// Len returns how many bytes were read.
func (b *Reader) Len() int64 { return b.read }

// Err returns the last error of Read other than io.EOF.
func (b *Reader) Err() error { return b.err }

// Bound reduces the limit to n bytes from the beginning of the body. over is the error for a larger body.
func (b *Reader) Bound(n int64, over error) {
	if less := n - b.read; less < b.left {
		b.left, b.over = max(less, 0), over
	}
}

// Read implements io.Reader.
func (b *Reader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), cmp.Or(b.over, TooLarge(b.limit))
	} else if err != nil && err != io.EOF {
		err = fmt.Errorf("the answer broke off after %d bytes: %w", b.read+int64(n), err)
	}
	b.read, b.left = b.read+int64(n), b.left-int64(n)
	if err != io.EOF {
		b.err = err
	}
	return n, err
}
