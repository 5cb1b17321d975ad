// class: native
// attacks: a class that has many ranges, repeated very often
// want: answer|Timeout|Memory
function sync({parent, children}) {
  return {n: '日本'.repeat(1e5).search(new RegExp('^(?:(?:\\p{L}{99}){99}){99}x', 'u'))};
}
