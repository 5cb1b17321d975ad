// class: native
// attacks: a panic: a function that only comprehensions call, of an object with locals
// want: Runtime
{
  sync(parent, children)::
    { v: std['$objectFlatMerge']([{ local x = 1, a: x }]) },
}
