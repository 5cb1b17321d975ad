// class: memory
// attacks: a text of JSON of small objects, each of which becomes two maps
// want: Memory
{ sync(parent, children):: { v: std.length(std.parseJson('[' + std.repeat('{"a":0},', 139000) + '1]')) } }
