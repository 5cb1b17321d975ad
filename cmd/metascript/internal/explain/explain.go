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
//
//	    kubectl ...
//
// The commands at the end are optional.
package explain

import (
	"fmt"
	"regexp"
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

	Commands []string `json:"commands,omitempty"` // to do it
	Find     []string `json:"find,omitempty"`     // commands that show where the reason is now
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
	if last := paragraphs[len(paragraphs)-1]; strings.HasPrefix(last, codeIndent) {
		paragraphs = paragraphs[:len(paragraphs)-1]
		for line := range strings.SplitSeq(last, "\n") {
			e.Commands = append(e.Commands, strings.TrimPrefix(line, codeIndent))
		}
	}
	if len(paragraphs) != len(parts) {
		return e, fmt.Errorf("%s: there are %d paragraphs, want %d", e.Name, len(paragraphs), len(parts))
	}
	for i, part := range parts {
		text, found := strings.CutPrefix(paragraphs[i], part.title)
		if *part.into = strings.Join(strings.Fields(markdown.Inline(text)), " "); !found || *part.into == "" {
			return e, fmt.Errorf("%s: paragraph %d does not begin with %q", e.Name, i+1, part.title)
		}
	}
	e.Find = find(e.Name, e.Where)
	return e, nil
}

// codeIndent begins a line of code in Markdown.
const codeIndent = "    "

var (
	isEvent     = regexp.MustCompile(`(?i)\bevent\b`)
	ofCondition = regexp.MustCompile(`Reason of the conditions? (\w+)`)
)

// find returns the commands that show the events with a reason, and the controllers with a condition. The condition Updated is of
// parents, whose kinds are not known.
func find(name, where string) []string {
	var all []string
	if isEvent.MatchString(where) {
		all = append(all, "kubectl get events -A --field-selector reason="+name)
	}
	of := ""
	if strings.Contains(strings.ToLower(where), "condition of a controller") {
		of = name
	} else if match := ofCondition.FindStringSubmatch(where); match != nil && match[1] != "Updated" {
		of = match[1]
	}
	if of != "" {
		field := fmt.Sprintf(`{.status.conditions[?(@.type=="%s")].`, of)
		all = append(all, `kubectl get compositecontrollers,decoratorcontrollers -o jsonpath='{range .items[*]}{.metadata.name}: `+field+`status} `+field+`message}{"\n"}{end}'`)
	}
	return all
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
		"\nMeaning\n" + markdown.Wrap(e.Meaning, "  ") + "\nCause\n" + markdown.Wrap(e.Cause, "  ") + "\nWhat to do\n" + markdown.Wrap(e.Remedy, "  ") +
		code("\n", e.Commands) + code("\nWhere it is now\n", e.Find)
}

// code returns commands after a title, each in a line that can be copied, or "" if there are none.
func code(title string, commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return title + codeIndent + strings.Join(commands, "\n"+codeIndent) + "\n"
}
