// It never ends by itself.
function sync() { for (;;) {} }
