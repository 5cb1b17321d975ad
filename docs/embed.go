// Package docs has the documentation of the project, so that the program can print it.
package docs

import "embed"

// Pages are the pages, as Markdown. README.md, which is their index for a browser, is not among them: the pattern has only names in lower case.
//
//go:embed [a-z]*.md
var Pages embed.FS

// Reasons is the name of the page about the reasons of events and conditions.
const Reasons = "reasons.md"
