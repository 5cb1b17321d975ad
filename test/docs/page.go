package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A Page is a file of the documentation.
type Page struct {
	Name       string // its path below the root of the repository
	OwnCluster bool   // it cannot be run in a cluster that others use
	Text       string
	Blocks     []*Block
}

// A Block is a fenced block of a page.
type Block struct {
	Page     string
	Line     int // of its first line of text
	Language string
	Text     string
	NotRun   string // why it is neither run nor validated; "" if it is

	// These are of blocks of sh only.
	Exit       int
	Background bool
	Interrupts bool   // it ends the block in the background before it runs
	Output     *Block // nil: the output is not documented
}

// String returns the position of the block.
func (b *Block) String() string { return b.Page + ":" + strconv.Itoa(b.Line) }

// needsCluster matches the commands that need a cluster.
var needsCluster = regexp.MustCompile(`\bkubectl\b|\bmetascript (dev|promote|gc|uninstall|controller)\b|--check\b|--observe\b`)

// NeedsCluster reports whether a block of sh needs a cluster.
func (b *Block) NeedsCluster() bool { return needsCluster.MatchString(b.Text) }

// Commands returns the blocks of sh that are run.
func (p *Page) Commands() []*Block {
	var found []*Block
	for _, b := range p.Blocks {
		if b.Language == "sh" && b.NotRun == "" {
			found = append(found, b)
		}
	}
	return found
}

// NeedsCluster reports whether a block of the page needs a cluster.
func (p *Page) NeedsCluster() bool {
	for _, b := range p.Commands() {
		if b.NeedsCluster() {
			return true
		}
	}
	return false
}

// Pages reads all pages. root is the root directory of the repository.
func Pages(root string) ([]*Page, error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	var pages []*Page
	for _, name := range append([]string{filepath.Join(root, "README.md")}, names...) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		page, err := parse(relative, string(text))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// fence matches the first line of a block; in a list it is indented.
var fence = regexp.MustCompile("^( *)```(\\w*)$")

// parse finds the blocks of a page.
func parse(name, text string) (*Page, error) {
	p := &Page{Name: name, Text: text, OwnCluster: strings.Contains(text, "\n<!-- own cluster -->\n")}
	var open *Block
	var indent, comment string
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && strings.TrimRight(line, " ") == indent+"```":
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case m != nil:
			indent, open = m[1], &Block{Page: name, Line: i + 2, Language: m[2]}
			if err := open.annotate(comment); err != nil {
				return nil, err
			}
			if err := p.add(open); err != nil {
				return nil, err
			}
			comment = ""
		case strings.TrimSpace(line) != "":
			comment = strings.TrimSpace(line)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open)
	}
	return p, nil
}

// annotation matches the comment in the line before a block.
var annotation = regexp.MustCompile(`^<!-- (?:not run: (.+)|exit (\d+)|(in the background)|(after Ctrl-C)) -->$`)

// annotate sets what the line before the block says about it.
func (b *Block) annotate(line string) error {
	if !strings.HasPrefix(line, "<!--") {
		return nil
	}
	m := annotation.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("%s: the comment %s before the block is none of those in test/docs/doc.go", b, line)
	}
	b.NotRun, b.Background, b.Interrupts = m[1], m[3] != "", m[4] != ""
	if m[2] != "" {
		b.Exit, _ = strconv.Atoi(m[2]) // the pattern has only digits
	}
	return nil
}

// add adds a block. A text is the output of the commands before it.
func (p *Page) add(b *Block) error {
	if b.Language == "text" && b.NotRun == "" {
		if len(p.Blocks) == 0 || p.Blocks[len(p.Blocks)-1].Language != "sh" {
			return fmt.Errorf("%s: there is no block of sh before this output", b)
		}
		p.Blocks[len(p.Blocks)-1].Output = b
	}
	p.Blocks = append(p.Blocks, b)
	return nil
}
