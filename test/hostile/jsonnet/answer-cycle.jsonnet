// class: output
// attacks: the answer: answer-cycle
// want: Output
{
  sync(parent, children)::
    { v: { a: self } },
}
