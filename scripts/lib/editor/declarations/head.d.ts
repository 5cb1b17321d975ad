// written by metascript types: types of requests, of answers, and of the library that a script can load.
//
//	/** @type {import("metascript").Sync} */
//	function sync({parent, children}) { ... }
