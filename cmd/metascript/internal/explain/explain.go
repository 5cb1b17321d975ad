// Package explain has what the reasons of events and conditions mean. The texts are those of a page of the documentation, which has a
// section for each reason:
//
//	### ScriptHeld
//
//	Warning event on a parent.
//
//	**Meaning.** ...
//
//	**Cause.** ...
//
//	**What to do.** ...
package explain

import (
	"fmt"
	"slices"
	"strings"

	"metascript/cmd/metascript/internal/markdown"
	"metascript/cmd/metascript/internal/style"
	"metascript/docs"
	"metascript/engine"
)

// An Entry is what a reason, or a type of conditions, means. Its JSON form is the output of "metascript explain -o json".
type Entry struct {
	Name    string `json:"name"`
	Where   string `json:"where"`   // of which event or condition it is the reason
	Meaning string `json:"meaning"` // what it says
	Cause   string `json:"cause"`   // why it happens
	Remedy  string `json:"remedy"`  // what to do
}

// Entries returns all entries, in the order of the page.
func Entries() ([]Entry, error) {
	page, err := docs.Pages.ReadFile(docs.Reasons)
	if err != nil {
		return nil, err
	}
	return parse(string(page))
}

// parse returns the entries of a page. An entry without one of its parts is an error.
func parse(page string) ([]Entry, error) {
	var all []Entry
	_, rest, found := strings.Cut(page, "\n### ")
	for found {
		var section string
		section, rest, found = strings.Cut(rest, "\n### ")
		section, _, _ = strings.Cut(section, "\n## ") // the next group of entries
		entry, err := parseEntry(section)
		if err != nil {
			return nil, err
		}
		all = append(all, entry)
	}
	return all, nil
}

// parseEntry returns the entry in a section, which begins with its name.
func parseEntry(section string) (Entry, error) {
	name, body, _ := strings.Cut(section, "\n")
	e := Entry{Name: strings.TrimSpace(name)}
	parts := []struct {
		title string
		into  *string
	}{{"", &e.Where}, {"**Meaning.** ", &e.Meaning}, {"**Cause.** ", &e.Cause}, {"**What to do.** ", &e.Remedy}}
	paragraphs := strings.Split(strings.TrimSpace(body), "\n\n")
	if len(paragraphs) != len(parts) {
		return e, fmt.Errorf("%s: there are %d paragraphs, want %d", e.Name, len(paragraphs), len(parts))
	}
	for i, part := range parts {
		text, found := strings.CutPrefix(paragraphs[i], part.title)
		if *part.into = strings.Join(strings.Fields(markdown.Inline(text)), " "); !found || *part.into == "" {
			return e, fmt.Errorf("%s: paragraph %d does not begin with %q", e.Name, i+1, part.title)
		}
	}
	return e, nil
}

// Names returns the names of entries.
func Names(entries []Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// Find returns the entry of a name, in upper or lower case. The error suggests the name that is most similar.
func Find(name string, entries []Entry) (Entry, error) {
	if i := slices.IndexFunc(entries, func(e Entry) bool { return strings.EqualFold(e.Name, name) }); i >= 0 {
		return entries[i], nil
	}
	if near := engine.Nearest(name, Names(entries)); near != "" {
		return Entry{}, fmt.Errorf("no event and no condition has the reason %q: did you mean %s?", name, near)
	}
	return Entry{}, fmt.Errorf("no event and no condition has the reason %q; a hook itself may have returned it. metascript explain lists the reasons of the server", name)
}

// Text returns an entry for people.
func (e *Entry) Text(in style.Styler) string {
	return in.Strong(e.Name) + "\n" + markdown.Wrap(e.Where, "  ") +
		"\nMeaning\n" + markdown.Wrap(e.Meaning, "  ") + "\nCause\n" + markdown.Wrap(e.Cause, "  ") + "\nWhat to do\n" + markdown.Wrap(e.Remedy, "  ")
}
