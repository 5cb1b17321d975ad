// class: output
// attacks: code that a date runs while it is written
// want: error|answer
function sync() {
  const d = new Date(0);
  d.toJSON = () => { for (;;); };
  return {d};
}
