// class: state
// attacks: a variable of the file has one value
// want: answer
local n = { v: 1 };
{ sync(parent, children):: { v: (n { v+: 1 }).v } }
