package javascript

import "strings"

// Hints that several names of other hosts of JavaScript have in common. The library is that of docs/library.md.
const (
	useBase64 = `for base64, write base64.encode(text) or base64.decode(text), with const {base64} = require("metascript")`
	useSHA256 = `write sha256(text) or hash(value), with const {sha256, hash} = require("metascript"); for tokens and passwords, use random of metascript`
	useRandom = "for tokens, passwords and choices, use random of metascript; for names, hash of metascript"
	useYAML   = `write yaml.decode(text) or yaml.encode(value), with const {yaml} = require("metascript")`
	useSemver = `write semver.compare(a, b), with const {semver} = require("metascript")`
	useParts  = "there are no URLs: take the text apart with split, or with a regular expression"
	noBytes   = "there are no bytes, only texts: base64 and sha256 of metascript use the UTF-8 bytes of a text"
	noTimers  = "there are no timers: return resyncAfterSeconds, and the hook is called again"
	noNetwork = "there is no network: the hook customize selects other objects of the cluster"
	noSetting = "there is no environment: read settings from the parent, or from a ConfigMap that the hook customize selects"
	noFiles   = `there are no files: require("./data.json") reads a JSON file of the script`
	noIntl    = "there is no Intl: toLocaleString() without arguments writes numbers and dates as in American English"
)

// absent are names of other hosts of JavaScript that scripts often use.
var absent = map[string]string{
	"setTimeout": noTimers, "setInterval": noTimers, "setImmediate": noTimers, "clearTimeout": noTimers,
	"queueMicrotask": "write await in an async function",
	"fetch":          noNetwork, "XMLHttpRequest": noNetwork, "axios": noNetwork,
	"process": noSetting, "Buffer": useBase64, "btoa": useBase64, "atob": useBase64, "crypto": useSHA256,
	"uuid": useRandom, "uuidv4": useRandom, "URL": useParts, "URLSearchParams": useParts, "Intl": noIntl,
	"TextEncoder": noBytes, "TextDecoder": noBytes, "Uint8Array": noBytes, "ArrayBuffer": noBytes,
	"__dirname": noFiles, "__filename": noFiles,
	"window": "the global object is globalThis", "global": "the global object is globalThis",
	"eval": "code cannot be made from text", "Proxy": "there are no proxies",
	"BigInt": "use a number up to 2^53, or text",
}

// absentModules are modules of Node.js, and packages, that scripts often require.
var absentModules = map[string]string{
	"crypto": useSHA256, "buffer": useBase64, "uuid": useRandom, "nanoid": useRandom, "url": useParts, "js-yaml": useYAML, "yaml": useYAML,
	"semver": useSemver, "fs": noFiles, "fs/promises": noFiles, "path": noFiles, "os": noSetting, "process": noSetting, "http": noNetwork,
	"https": noNetwork, "net": noNetwork, "axios": noNetwork, "node-fetch": noNetwork, "timers": noTimers, "timers/promises": noTimers,
}

// absentModule returns the hint for a module that a script requires, or "".
func absentModule(name string) string { return absentModules[strings.TrimPrefix(name, "node:")] }
