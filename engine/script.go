package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing/fstest"
)

// Digest identifies the script by its content: it returns the SHA-256, in hexadecimal, of the language, the entry, and the
// names and contents of all files. Equal digests mean equal scripts, from whatever source.
//
// Only regular files count; a script cannot load symbolic links and other files. Reading stops when names and contents
// together exceed l.Source, with an [*Error] of KindSource.
func (s Script) Digest(l Limits) (string, error) {
	_, digest, err := s.snapshot(l.WithDefaults().Source)
	return digest, err
}

// snapshot reads all files into memory, so that the compiled text is the text of the digest.
func (s Script) snapshot(limit int64) (Script, string, error) {
	files := fstest.MapFS{}
	if err := s.read(files, limit); err != nil {
		return Script{}, "", err
	}
	if _, ok := files[s.Entry]; !ok {
		return Script{}, "", &Error{Kind: KindSource, Msg: fmt.Sprintf("there is no file %q", Clip(s.Entry, maxName))}
	}
	s.Files = files
	return s, s.digest(files), nil
}

// maxName is the maximum length of a file name in a message.
const maxName = 200

// read puts every regular file into files.
func (s Script) read(files fstest.MapFS, limit int64) error {
	if s.Files == nil {
		return &Error{Kind: KindSource, Msg: "the script has no files"}
	}
	left := limit
	err := fs.WalkDir(s.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if left -= int64(len(name)); left < 0 {
			return errTooLarge
		}
		text, err := readAtMost(s.Files, name, left)
		if left -= int64(len(text)); left < 0 {
			return errTooLarge
		}
		files[name] = &fstest.MapFile{Data: text, Mode: 0o444}
		return err
	})
	switch {
	case errors.Is(err, errTooLarge):
		return s.tooLarge(limit)
	case err != nil:
		return &Error{Kind: KindSource, Pos: Pos{File: s.Entry}, Msg: "the script's files cannot be read: " + Clip(err.Error(), maxMsg)}
	}
	return nil
}

var errTooLarge = errors.New("too large")

// readAtMost reads a file, or limit and one bytes of it if it is larger.
func readAtMost(files fs.FS, name string, limit int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// tooLarge returns the error for files that are too large, with their sizes from Stat.
func (s Script) tooLarge(limit int64) error {
	var total int64
	count := 0
	_ = fs.WalkDir(s.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			count++
			total += int64(len(name))
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return &Error{
		Kind: KindSource, Pos: Pos{File: s.Entry},
		Msg:  fmt.Sprintf("the script's files are too large: %d bytes in %d files, at most %d bytes are allowed", max(total, limit+1), count, limit),
		Hint: "leave out what the script does not need, or split the controller",
	}
}

// digest returns the digest of the script with these files.
func (s Script) digest(files fstest.MapFS) string {
	h := sha256.New()
	writeField(h, []byte(s.Language))
	writeField(h, []byte(s.Entry))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		writeField(h, []byte(name))
		writeField(h, files[name].Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeField adds a field with its length before it, so that different lists of fields have different hashes.
func writeField(h hash.Hash, field []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(field)))
	h.Write(size[:])
	h.Write(field)
}

// maxNesting is how deeply brackets may be nested in source text. The parsers recurse for each, and deep source would overflow
// the stack, which cannot be recovered. Generated code stays below 100.
const maxNesting = 500

// checkNesting checks the nesting in all files, since any of them may be loaded.
func (s Script) checkNesting() *Error {
	files := s.Files.(fstest.MapFS)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if line := deepLine(string(files[name].Data), lineComments[s.Language]); line > 0 {
			return &Error{
				Kind: KindSource, Pos: Pos{File: name, Line: line},
				Msg: fmt.Sprintf("brackets are nested deeper than %d levels", maxNesting),
			}
		}
	}
	return nil
}

// lineComments are the beginnings of comments that end with their line.
var lineComments = map[string][]string{
	Starlark:   {"#"},
	JavaScript: {"//"},
	TypeScript: {"//"},
	Jsonnet:    {"//", "#"},
}

// deepLine returns the line where brackets are nested too deeply, or 0.
//
// It is not a lexer. On each line, a quote and the next quote of the same kind are a string, and the rest after the beginning
// of a comment is a comment; brackets in these are counted separately. All other text counts, so that text over several lines
// (docstrings, templates, text blocks, block comments) may have brackets if they match on the whole, and a quote that does not
// begin a string (in a regular expression, or an apostrophe) affects only its line. This stops source that is deep by accident
// or by a simple attack. It is not complete: closing brackets in a block comment hide opening ones, and there is recursion
// without brackets, such as a long chain of operators.
func deepLine(text string, comments []string) int {
	code, number := depth{}, 0
	for line := range strings.Lines(text) {
		number++
		for i := 0; i < len(line); {
			end, skip := skipEnd(line, i, comments)
			switch {
			case skip:
				within := depth{}
				for ; i < end; i++ {
					within.add(line[i])
				}
				code.deep = code.deep || within.deep
			case line[i] == '\\':
				i += 2 // an escape as in a string; otherwise this would take quadratic time
			default:
				code.add(line[i])
				i++
			}
		}
		if code.deep {
			return number
		}
	}
	return 0
}

// skipEnd reports whether a string or a comment begins at line[i], and where it ends.
func skipEnd(line string, i int, comments []string) (end int, ok bool) {
	for _, begin := range comments {
		if strings.HasPrefix(line[i:], begin) {
			return len(line), true
		}
	}
	if quote := line[i]; quote == '"' || quote == '\'' || quote == '`' {
		for end = i + 1; end < len(line); end++ {
			switch line[end] {
			case quote:
				return end + 1, true
			case '\\':
				end++
			}
		}
	}
	return 0, false
}

// A depth counts the nesting of brackets.
type depth struct {
	level int  // how many brackets are open
	deep  bool // there were more than maxNesting
}

// add counts b if it is a bracket.
func (d *depth) add(b byte) {
	switch b {
	case '(', '[', '{':
		d.level++
		d.deep = d.deep || d.level > maxNesting
	case ')', ']', '}':
		d.level = max(0, d.level-1)
	}
}
