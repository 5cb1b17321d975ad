package scripts

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing/fstest"
	"unicode/utf8"

	"metascript/engine"
)

// maxFiles bounds the files of one script.
const maxFiles = 1000

// A closure collects the files that an entry may load: the entry, the files that it mentions, the files that those mention, and
// so on.
//
// A file that is loaded must be readable, or the script has an error. A file that is only mentioned is left out if it cannot be
// read or is too large, because the text may mean something else.
type closure struct {
	from     files
	language string
	limit    int64 // bytes of all files together, with their names
	left     int64 // how many of these are left

	texts      map[string][]byte // the files that have been read, by name
	loaded     []string          // files that are loaded and have not been read yet
	mentioned  []string          // files that are only mentioned, read after these
	everything bool              // a text may load what it does not mention
}

func newClosure(from files, language string, limit int64) *closure {
	return &closure{from: from, language: language, limit: limit, left: limit, texts: map[string][]byte{}}
}

// run reads the queued files, and all files that they mention.
func (c *closure) run() error {
	for {
		switch {
		case len(c.loaded) > 0:
			name := c.loaded[0]
			c.loaded = c.loaded[1:]
			if err := c.take(name, true); err != nil {
				return err
			}
		case len(c.mentioned) > 0:
			name := c.mentioned[0]
			c.mentioned = c.mentioned[1:]
			_ = c.take(name, false) // it is optional: the text may mean something else
		default:
			return nil
		}
	}
}

// take reads a file, unless it has been read. certain says that it is loaded, and not only mentioned.
func (c *closure) take(name string, certain bool) error {
	if _, taken := c.texts[name]; taken {
		return nil
	}
	text, err := c.from.read(name, c.limit)
	if err != nil {
		return err
	}
	switch {
	case int64(len(name)+len(text)) > c.left:
		return invalid(name, fmt.Sprintf("the script's files are too large: with this one more than the %d bytes that are allowed", c.limit), "leave out what the script does not need, or split the controller")
	case len(c.texts) >= maxFiles:
		return invalid(name, fmt.Sprintf("the script has more than %d files", maxFiles), "leave out what the script does not need")
	}
	if err := checkText(name, text); err != nil {
		return err
	}
	c.add(name, text, certain)
	return nil
}

// add adds the text of a file.
func (c *closure) add(name string, text []byte, certain bool) {
	c.left -= int64(len(name) + len(text))
	c.texts[name] = text
	c.follow(name, string(text), certain)
}

// follow queues the files that a text mentions.
func (c *closure) follow(name, text string, certain bool) {
	if (c.language == engine.JavaScript || c.language == engine.TypeScript) && path.Ext(name) == ".json" {
		return
	}
	found, everything := mentions(c.language, text)
	c.everything = c.everything || everything
	for _, m := range found {
		file, ok := engine.FindFile(finder{c.from}, name, m.name, suffixes[c.language]...)
		if stem, js := strings.CutSuffix(m.name, ".js"); js && !ok && c.language == engine.TypeScript {
			file, ok = engine.FindFile(finder{c.from}, name, stem+".ts")
		}
		if _, taken := c.texts[file]; !ok || taken {
			continue
		}
		c.queue(file, certain && m.direct)
	}
}

// queue adds a file to those that run reads.
func (c *closure) queue(name string, certain bool) {
	if certain {
		c.loaded = append(c.loaded, name)
	} else {
		c.mentioned = append(c.mentioned, name)
	}
}

// all reads every file. If certain is set, those in the script's language, and JSON, must be readable.
func (c *closure) all(certain bool) error {
	names, err := c.from.list(".", true)
	if err != nil && certain {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return s[0] == '.' }) {
			continue // hidden files of editors and git
		}
		if !c.from.has(name) {
			continue // a link to a folder
		}
		c.queue(name, certain && (LanguageOf(name) == c.language || path.Ext(name) == ".json"))
	}
	return c.run()
}

// suffixes are what the runtimes append to a name to find a file; "" is the name itself.
var suffixes = map[string][]string{
	engine.JavaScript: {"", ".js", ".json"},
	engine.TypeScript: {"", ".ts", ".js", ".json"},
}

// files returns the texts as an fs.FS.
func (c *closure) files() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range c.texts {
		files[name] = &fstest.MapFile{Data: text, Mode: 0o444}
	}
	return files
}

// checkText returns an error with the position of the first byte that is not UTF-8.
func checkText(name string, text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	before := text[:at]
	pos := engine.Pos{
		File: name,
		Line: 1 + bytes.Count(before, []byte("\n")),
		Col:  1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}
	return invalid(pos.String(), fmt.Sprintf("is not UTF-8: there is a byte 0x%02x", text[at]), "save the file as UTF-8")
}

// asError returns the Error in err, and whether there is one.
func asError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
