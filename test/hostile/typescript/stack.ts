// class: stack
// attacks: recursion in TypeScript
// want: Stack
function sync(request: any): any { return sync(request); }
