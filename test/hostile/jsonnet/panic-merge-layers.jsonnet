// class: native
// attacks: a panic: a function that only comprehensions call
// want: Runtime
{
  sync(parent, children)::
    { v: std['$objectFlatMerge']([{ a: 1 } + { b: 2 }]) },
}
