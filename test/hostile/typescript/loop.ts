// class: loop
// attacks: a loop in TypeScript
// want: Timeout
function sync(request: any): any { for (;;); }
