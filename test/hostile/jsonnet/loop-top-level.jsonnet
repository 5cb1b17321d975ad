// class: loop
// attacks: a loop while the file is loaded
// want: Steps|Timeout|Memory|Stack
local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1);
assert f(60) == 0;
{ sync(parent, children):: {} }
