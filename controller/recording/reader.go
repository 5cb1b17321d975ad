package recording

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the limit in bytes of one line. Objects have up to some MiB, and a controller object with its scripts up to 8 MiB.
const MaxLine = 64 << 20

// A LineError is the error of a line that cannot be read. The lines before it can be used.
type LineError struct {
	Line int // counted from 1
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error without the line.
func (e *LineError) Unwrap() error { return e.Err }

// ErrCutOff is in the error of a recording that ends without an End line: the program that wrote it was killed, or the disk was full.
// All lines before can be used.
var ErrCutOff = errors.New("the recording is cut off: it has no line that ends it")

// ErrNoRecording is in the error of a file that is not a recording.
var ErrNoRecording = errors.New("it is not a recording")

// A Reader reads the lines of a recording. It keeps one line in memory. It does not check digests and references; see [File].
type Reader struct {
	in      *bufio.Reader
	buffer  []byte
	line    int // the number of the last line
	header  Header
	size    int64 // of the last line, decoded
	maxLine int
	err     error // ends it
}

// NewReader returns a Reader that has read the header. The error is an ErrNoRecording if r is not gzip, or has no header.
func NewReader(r io.Reader) (*Reader, error) {
	zip, err := gzip.NewReader(r)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is empty", ErrNoRecording)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: it is not compressed with gzip", ErrNoRecording)
	case err != nil:
		return nil, err
	}
	d := &Reader{in: bufio.NewReaderSize(zip, 64<<10), maxLine: MaxLine}
	first, err := d.Next()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRecording, err)
	}
	if first.Header == nil {
		return nil, fmt.Errorf("%w: the first line has no header", ErrNoRecording)
	}
	d.header = *first.Header
	return d, d.header.check()
}

// check returns an error for a format that this program does not read.
func (h *Header) check() error {
	switch {
	case h.Format < 1:
		return fmt.Errorf("%w: the header has the format %d, and the first one is 1", ErrNoRecording, h.Format)
	case h.Format > Format:
		return fmt.Errorf("the recording has format %d, and this program reads formats up to %d: use a program of version %s or later", h.Format, Format, h.Program)
	}
	return nil
}

// Header returns the header.
func (d *Reader) Header() Header { return d.header }

// LineNumber returns the number of the line that Next has returned.
func (d *Reader) LineNumber() int { return d.line }

// Size returns about how many bytes of memory the line needs that Next has returned.
func (d *Reader) Size() int64 { return d.size }

// Next returns the next line. After the End the error is io.EOF. If the recording is cut off, it is an ErrCutOff. An error about a line is
// a *LineError. After an error, each call returns it.
func (d *Reader) Next() (Line, error) {
	if d.err != nil {
		return Line{}, d.err
	}
	line, err := d.next()
	switch {
	case err != nil:
		d.err = err
	case line.End != nil:
		d.err = d.ended()
	}
	return line, err
}

// ended returns the error of Next after the End: there must be nothing else. If only the checksum is cut off, everything is there.
func (d *Reader) ended() error {
	switch _, err := d.in.ReadByte(); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case err != nil:
		return d.broken(err)
	}
	return &LineError{d.line + 1, errors.New("there is something after the line that ends the recording")}
}

func (d *Reader) next() (Line, error) {
	text, err := d.read()
	if err != nil {
		return Line{}, err
	}
	if d.size, err = measure(text); err != nil {
		return Line{}, &LineError{d.line, err}
	}
	var line Line
	if err := json.Unmarshal(text, &line); err != nil {
		return Line{}, &LineError{d.line, fmt.Errorf("it is not a line of a recording: %w", err)}
	}
	if n := line.fields(); n != 1 {
		return Line{}, &LineError{d.line, fmt.Errorf("it has %d of the fields header, controller, object, reconcile and end, want one", n)}
	}
	if err := line.checkNames(); err != nil {
		return Line{}, &LineError{d.line, err}
	}
	return line, nil
}

// fields returns how many fields are set.
func (l *Line) fields() (n int) {
	for _, set := range []bool{l.Header != nil, l.Controller != nil, l.Object != nil, l.Reconcile != nil, l.End != nil} {
		if set {
			n++
		}
	}
	return n
}

// read reads the text of the next line. It is valid until the next call.
func (d *Reader) read() ([]byte, error) {
	d.buffer = d.buffer[:0]
	for {
		part, err := d.in.ReadSlice('\n')
		if len(d.buffer)+len(part) > d.maxLine {
			return nil, &LineError{d.line + 1, fmt.Errorf("it is longer than %d MiB", d.maxLine>>20)}
		}
		d.buffer = append(d.buffer, part...)
		switch {
		case err == nil:
			d.line++
			return bytes.TrimSuffix(d.buffer, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, d.broken(err)
		}
	}
}

// broken returns the error for a failure to read: most often, the file is cut off there.
func (d *Reader) broken(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w; the last one is line %d", ErrCutOff, d.line)
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return &LineError{d.line + 1, fmt.Errorf("the file is damaged: %w", err)}
	}
	return err
}
