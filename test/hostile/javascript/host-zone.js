// class: host
// attacks: the time zone of the host
// want: answer
function sync() {
  if (new Date(0).getTimezoneOffset() !== 0) throw new Error('it shows');
  return {};
}
