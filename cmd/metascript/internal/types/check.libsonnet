// A script can use this file: local kinds = import 'kinds.libsonnet'; kinds.Pod({ metadata: { name: 'a' }, spec: { ... } })

// like returns the names with the same first letter as a name, or all if there are none.
local like(names, name) =
  local first(text) = std.asciiLower(std.substr(text, 0, 1));
  local same = [other for other in names if first(other) == first(name)];
  if std.length(same) > 0 then same else names;

// check returns value. It is an error if an object in value has a field that is not in the shape.
local check(shape, value, path) =
  if !std.isObject(shape) then value
  else if std.isArray(value) then std.mapWithIndex(function(i, item) check(shape, item, '%s[%d]' % [path, i]), value)
  else if !std.isObject(value) then value
  else std.mapWithKey(function(key, field)
    if '*' in shape then check(shape['*'], field, path + '.' + key)
    else if key in shape then check(shape[key], field, path + '.' + key)
    else error '%s: unknown field "%s"; did you mean %s?' % [path, key, std.join(' or ', like(std.objectFields(shape), key))], value);
