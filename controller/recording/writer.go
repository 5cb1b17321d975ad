package recording

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// digestPrefix names the hash of digests.
const digestPrefix = "sha256:"

// DigestOf returns the digest of the JSON text of an object.
func DigestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// A Writer writes a recording. After an error each call returns that error, and what was flushed before can be read. It is used by one
// goroutine at a time.
type Writer struct {
	out      counter
	zip      *gzip.Writer
	line     bytes.Buffer
	encode   *json.Encoder              // writes to line
	seen     map[[sha256.Size]byte]bool // the digests of the objects that were written
	maxSeen  int                        // of seen
	versions map[string]bool            // the IDs of the controllers that were written
	pending  int                        // bytes of lines since the last Flush
	end      End                        // with the counts so far
	err      error
}

// maxSeen is how many objects are known to be written, so that a long recording needs no more than some 60 MiB. What is forgotten is
// written again.
const maxSeen = 1 << 20

// counter counts what is written.
type counter struct {
	io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// NewWriter returns a Writer that has written the header to w. Header.Format need not be set.
func NewWriter(w io.Writer, header Header) (*Writer, error) {
	r := &Writer{out: counter{Writer: w}, seen: map[[sha256.Size]byte]bool{}, maxSeen: maxSeen, versions: map[string]bool{}}
	// The fastest level: a server that is busy records too. The lines of the objects are similar, and become about ten times smaller.
	r.zip, _ = gzip.NewWriterLevel(&r.out, gzip.BestSpeed)
	r.encode = json.NewEncoder(&r.line)
	header.Format = Format
	r.write(Line{Header: &header})
	return r, r.Flush()
}

// write writes a line.
func (w *Writer) write(line Line) {
	if w.err != nil {
		return
	}
	w.line.Reset()
	if w.err = w.encode.Encode(line); w.err == nil {
		w.send()
	}
}

// send compresses what is in line.
func (w *Writer) send() {
	w.pending += w.line.Len()
	_, w.err = w.zip.Write(w.line.Bytes())
	if w.line.Cap() > maxSpare {
		w.line = bytes.Buffer{}
	}
}

// maxSpare is the size up to which the buffer of a line is used again.
const maxSpare = 1 << 20

// Controller writes a version of a controller, if no version with its ID was written yet.
func (w *Writer) Controller(c *Controller) error {
	if !w.versions[c.ID] {
		w.versions[c.ID] = true
		w.write(Line{Controller: c})
	}
	return w.err
}

// HasController reports whether a version with that ID was written.
func (w *Writer) HasController(id string) bool { return w.versions[id] }

// Object writes an object, unless one of the last objects had the same content. content is JSON without spaces and line breaks, with
// sorted keys. redacted are the paths of what was replaced. It returns the digest.
func (w *Writer) Object(content []byte, redacted []string) (digest string, err error) {
	sum := sha256.Sum256(content)
	digest = digestPrefix + hex.EncodeToString(sum[:])
	if w.seen[sum] || w.err != nil {
		return digest, w.err
	}
	if len(w.seen) >= w.maxSeen {
		clear(w.seen)
	}
	w.seen[sum] = true
	w.end.Objects++
	w.line.Reset()
	w.line.WriteString(`{"object":{"digest":"` + digest + `","content":`)
	w.line.Write(content)
	if len(redacted) > 0 {
		w.end.Redacted++
		paths, err := json.Marshal(redacted)
		if w.err = err; err != nil {
			return digest, err
		}
		w.line.WriteString(`,"redacted":`)
		w.line.Write(paths)
	}
	w.line.WriteString("}}\n")
	w.send()
	return digest, w.err
}

// Reconcile writes a reconcile. What it refers to must have been written.
func (w *Writer) Reconcile(r *Reconcile) error {
	w.write(Line{Reconcile: r})
	if w.err == nil {
		w.end.Reconciles++
		w.end.Calls += len(r.Calls)
	}
	return w.err
}

// Flush writes all lines so far, so that they can be read if the program ends.
func (w *Writer) Flush() error {
	if w.err == nil && w.pending > 0 {
		w.pending = 0
		w.err = w.zip.Flush()
	}
	return w.err
}

// Pending returns how many bytes of lines, not compressed, were written since the last Flush.
func (w *Writer) Pending() int { return w.pending }

// Bytes returns the compressed size so far.
func (w *Writer) Bytes() int64 { return w.out.n }

// Counts returns the End, with what was written so far.
func (w *Writer) Counts() End { return w.end }

// Close writes the End, in which only the fields that the Writer does not know need be set, and returns it as it was written.
func (w *Writer) Close(end End) (End, error) {
	end.Reconciles, end.Calls, end.Objects, end.Redacted = w.end.Reconciles, w.end.Calls, w.end.Objects, w.end.Redacted
	w.write(Line{End: &end})
	if w.err != nil {
		return end, w.err
	}
	if w.err = w.zip.Close(); w.err != nil {
		return end, w.err
	}
	w.err = errors.New("the recording is closed")
	return end, nil
}
