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

// Digest names the script by its content: the SHA-256, in hexadecimal, over language, entry, and the names and
// contents of all files. Equal digests mean equal scripts, wherever they came from.
//
// Only regular files count; symbolic links and other things do not exist for a script. Reading stops where names
// and contents together exceed l.Source, and the error, an [*Error] of KindSource, says so.
func (s Script) Digest(l Limits) (string, error) {
	_, digest, err := s.snapshot(l.WithDefaults().Source)
	return digest, err
}

// snapshot reads all files into memory, so that what was digested is what is compiled.
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

// maxName bounds a name of unknown origin in a message.
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

// readAtMost reads a file, and of one that is larger than limit one byte more than that.
func readAtMost(files fs.FS, name string, limit int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// tooLarge says how large the files are, as they claim.
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

// writeField adds a field with its length before it, so that no two lists of fields are written alike.
func writeField(h hash.Hash, field []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(field)))
	h.Write(size[:])
	h.Write(field)
}

// maxNesting is how deeply brackets may be nested in source text. The parsers recurse for each, and source that is
// deep enough overflows the stack, which no fence can catch. Generated code stays below 100.
const maxNesting = 500

// checkNesting looks for deep nesting in all files, since any of them may be loaded.
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

// lineComments are what begins a comment that ends with its line.
var lineComments = map[string][]string{
	Starlark:   {"#"},
	JavaScript: {"//"},
	Jsonnet:    {"//", "#"},
}

// deepLine returns the line where brackets are nested too deeply, or 0.
//
// It is no lexer. On each line, a quote with its like behind it is a string, and what follows a comment's begin is a
// comment; brackets in there are counted by themselves, and forgotten with them. All else counts, so that text over
// several lines (docstrings, templates, text blocks, block comments) may have brackets as long as they match on the
// whole, and a quote that was mistaken for one (in a regular expression, or an apostrophe) spoils its line only.
// This stops source that is deep by accident or by simple intent. It is no proof: closing brackets in a block
// comment hide opening ones, and there is recursion without brackets, such as a long chain of operators.
func deepLine(text string, comments []string) int {
	code, number := depth{}, 0
	for line := range strings.Lines(text) {
		number++
		for i := 0; i < len(line); {
			end, aside := asideEnd(line, i, comments)
			switch {
			case aside:
				within := depth{}
				for ; i < end; i++ {
					within.add(line[i])
				}
				code.deep = code.deep || within.deep
			case line[i] == '\\':
				i += 2 // as in a string, or one pass would become many
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

// asideEnd reports whether a string or a comment begins at line[i], and where it ends.
func asideEnd(line string, i int, comments []string) (end int, ok bool) {
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

// A depth follows the nesting of brackets.
type depth struct {
	level int
	deep  bool
}

func (d *depth) add(b byte) {
	switch b {
	case '(', '[', '{':
		d.level++
		d.deep = d.deep || d.level > maxNesting
	case ')', ']', '}':
		d.level = max(0, d.level-1)
	}
}
