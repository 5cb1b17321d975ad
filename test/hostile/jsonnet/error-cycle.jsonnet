// class: error
// attacks: a message: error-cycle
// want: Stack|Steps
{
  sync(parent, children)::
    { v: local a = [a]; error a },
}
