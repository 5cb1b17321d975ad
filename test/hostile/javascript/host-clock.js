// class: host
// attacks: the clock while a call runs
// want: answer
function sync() {
  const t = Date.now();
  for (let i = 0; i < 200000; i++);
  if (Date.now() !== t) throw new Error('it goes on');
  return {};
}
