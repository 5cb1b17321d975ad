// class: error
// attacks: a message of very many texts
// want: Timeout|Memory|answer
function sync() {
  const a = Array(1e5).fill("x".repeat(1e5));
  for (;;) console.log(...a);
}
