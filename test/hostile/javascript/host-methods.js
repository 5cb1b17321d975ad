// class: host
// attacks: methods of Go on the request
// want: answer
function sync(request) {
  for (const v of [request, request.parent, request.children, console]) {
    for (let o = v; o && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
      for (const name of Object.getOwnPropertyNames(o)) if (/^[A-Z]/.test(name) && typeof o[name] === 'function') throw new Error(name);
    }
  }
  return {};
}
