// Package docs tests the pages of the documentation: README.md and docs/*.md. Every fenced block of a page is run or validated, by
// its language:
//
//   - sh: the blocks of a page are run in their order by bash, with "set -e", from a fresh directory with the directories
//     build, examples and manifests of the repository. The current directory and exported variables are kept from block to block
//   - text: the output, of standard output and standard error, of the block of sh before it
//   - yaml: objects and parts of a controller's spec are validated, and their inline scripts are compiled
//   - python, js, ts, jsonnet: compiled, as Starlark, JavaScript, TypeScript and Jsonnet
//   - json, jsonc: parsed
//
// metascript and kubectl are in PATH.
//
// In an output, "..." stands for any text in a line, and a line "..." for any lines. The number of spaces within a line does not
// matter. A block that only reads (kubectl get, describe, events, wait and so on) is run again until its output is as documented, so a
// page needs no sleep: put the commands that change something into a block of their own.
//
// A comment of HTML in the line before a block, which a reader does not see, says what differs:
//
//	<!-- not run: REASON -->     the block is neither run nor validated, or its output is not compared
//	<!-- exit 1 -->              the block exits with this code
//	<!-- in the background -->   the block runs until a later block interrupts it, or until the end of the page
//	<!-- after Ctrl-C -->        before this block runs, the block in the background is interrupted
//
// The comment "own cluster" at the end of a page says that the page needs a cluster of its own, without a server.
//
// The blocks of sh that need no cluster, which are those before the first one with kubectl, are run by the tests of this package; all
// blocks of the pages that need a cluster are run by package test/e2e.
package docs
