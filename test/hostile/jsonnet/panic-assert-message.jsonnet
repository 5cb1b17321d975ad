// class: error
// attacks: a panic: an assertion whose message cannot be made, in a text
// want: Raised|Runtime
{
  sync(parent, children)::
    { v: { assert false: { assert false: self }, y: 1 } + '' },
}
