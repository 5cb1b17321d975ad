// Command wasm is the program of the playground, for a Web Worker: it defines the function metascriptRun, and calls metascriptReady.
package main
