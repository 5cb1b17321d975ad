// Package docs has the documentation of the project, so that the program can print it.
package docs

import "embed"

// Pages are the pages for users of the program, as Markdown. README.md, which is their index for a browser, is not among them.
//
//go:embed [a-z]*.md SECURITY.md
var Pages embed.FS

// Reasons is the name of the page about the reasons of events and conditions.
const Reasons = "reasons.md"
