package scripts

// nonblock is not needed: in WebAssembly there are no pipes.
const nonblock = 0
