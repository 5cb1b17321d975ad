package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link matches a link to a file or to a heading; not to another host.
var link = regexp.MustCompile(`\]\(([^):\s]*)\)`)

// heading matches a heading.
var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// punctuation matches what the anchor of a heading does not have.
var punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors returns the anchors of the headings of a page, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(page.Text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			path := filepath.Join(root, page.Name)
			if file != "" {
				path = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: the link %s leads to nothing", page.Name, m[1])
				continue
			}
			if anchor == "" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(text))[anchor] {
				t.Errorf("%s: the page of the link %s has no such heading", page.Name, m[1])
			}
		}
	}
}

// The index leads to every page.
func TestIndexHasAllPages(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		name := filepath.Base(page.Name)
		if name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}
